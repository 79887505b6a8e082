"""What does a snapshot save? A target reads a prompt, and a new target takes the same prompt from disk.

Times are wall clock, from the request to the first token; "closing" is the time that writing adds when the target
closes.
"""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from winnow_engine.config import TargetOptions
from winnow_engine.core import Prompt, Sampling
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_TARGET
from winnow_engine.prompting.messages import Message
from winnow_engine.targets.base import Generation, Request
from winnow_engine.targets.local.target import LlamaTarget
from winnow_engine.targets.snapshots.files import Snapshot, Snapshots, default_folder, used_bytes
from winnow_research.click_sources import fetch
from winnow_research.machine import median, report
from winnow_research.studies import study_parser

_ON = TargetOptions(snapshot_bytes=4 << 30)
_QUESTIONS = ("What is this code for?", "Which exceptions does it raise?")


def prompts(target: LlamaTarget, tokens: int) -> list[Prompt]:
    """Two questions behind the same `tokens` tokens of click."""
    text = "".join(path.read_text() for path in sorted((fetch() / "src" / "click").glob("c*.py")))
    code = text[: tokens * 5]
    while target.count(code) > tokens:
        code = code[: int(len(code) * 0.98)]
    return [target.chat_prompt([Message("user", f"{code}\n\n{question}")]) for question in _QUESTIONS]


def first_token(target: LlamaTarget, prompt: Prompt) -> Generation:
    """The prompt answered by one token."""
    return target.generate(Request(prompt, Sampling(max_tokens=1)))


def once(model: Path, tokens: int) -> dict[str, float]:
    """Read, close, open, and take from disk: seconds by name."""
    with closing(LlamaTarget.open(model, _ON)) as target:
        first, second = prompts(target, tokens)
        read = first_token(target, first)
        started = time.perf_counter()
    closing_s = time.perf_counter() - started
    with closing(LlamaTarget.open(model, _ON)) as target:
        restored = first_token(target, second)
        assert restored.restored_tokens > 0.9 * tokens, restored
    number, size = used_bytes(default_folder())
    for path in default_folder().iterdir():
        path.unlink()
    return {
        "prompt_tokens": read.prompt_tokens,
        "restored_tokens": restored.restored_tokens,
        "read_s": read.first_token_s or 0.0,
        "closing_s": closing_s,
        "restored_s": restored.first_token_s or 0.0,
        "restoring_s": (restored.first_token_s or 0.0) - restored.prefill_s,
        "megabytes": size / number / 1e6,
    }


def disk(size: int, tokens: int) -> dict[str, float]:
    """Processor seconds to write a snapshot of so many random bytes, and to find and load it."""
    made = Snapshot(np.arange(tokens, dtype=np.int32), np.random.default_rng(0).integers(0, 256, size, np.uint8), 1.0)
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        Snapshots(Path(folder), 2 * size, "bench").save(made)
        written = time.process_time()
        snapshots = Snapshots(Path(folder), 2 * size, "bench")
        found = snapshots.find(made.tokens, whole=False)
        assert found is not None
        snapshots.load(found)
        return {"writing_cpu_s": written - started, "loading_cpu_s": time.process_time() - written}


def main() -> None:
    """Measure, print, write JSON."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--target", default=DEFAULT_TARGET)
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        model = locate(options.target)
        os.environ["WINNOW_CACHE_DIR"] = scratch
        runs = [once(model, options.tokens) for _ in range(options.repeat)]
    figures: dict[str, Any] = {name: median([run[name] for run in runs]) for name in runs[0]}
    figures |= disk(int(figures["megabytes"] * 1e6), int(figures["prompt_tokens"]))
    report("snapshots", {"target": options.target, "runs": options.repeat, **figures})


if __name__ == "__main__":
    main()

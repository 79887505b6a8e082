"""What a snapshot saves: a prompt read by the target against the same prompt taken from disk by a new target.

    python -m winnow_research.studies.snapshots [--target qwen2.5-coder-1.5b] [--tokens 2000] [--repeat 3]

Wall clock from the request to the first token; "closing" is what writing adds when the target is closed.
"""

from __future__ import annotations

from winnow_lsp.process import prepare

prepare()

import argparse  # noqa: E402
import os  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from contextlib import closing  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from winnow_engine.config import TargetOptions  # noqa: E402
from winnow_engine.core import (  # noqa: E402
    Prompt,
    Sampling,
)
from winnow_engine.models.cache import path as model_path  # noqa: E402
from winnow_engine.models.registry import DEFAULT_TARGET  # noqa: E402
from winnow_engine.prompting.messages import Message  # noqa: E402
from winnow_engine.targets.base import Generation, Request  # noqa: E402
from winnow_engine.targets.local.target import LlamaTarget  # noqa: E402
from winnow_engine.targets.snapshots.files import Snapshot, Snapshots, default_folder, used_bytes  # noqa: E402
from winnow_research.click_sources import fetch  # noqa: E402
from winnow_research.machine import median, report  # noqa: E402

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
    """Read, close, open, take from disk; seconds by name."""
    with closing(LlamaTarget.open(model, _ON)) as target:
        first, second = prompts(target, tokens)
        read = first_token(target, first)
        started = time.perf_counter()
    closing_s = time.perf_counter() - started
    with closing(LlamaTarget.open(model, _ON)) as target:
        restored = first_token(target, second)
        assert restored.restored_tokens > 0.9 * tokens, restored
        target.park()
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default=DEFAULT_TARGET)
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        model = model_path(options.target)
        os.environ["WINNOW_CACHE_DIR"] = scratch
        runs = [once(model, options.tokens) for _ in range(options.repeat)]
    figures: dict[str, Any] = {name: median([run[name] for run in runs]) for name in runs[0]}
    figures |= disk(int(figures["megabytes"] * 1e6), int(figures["prompt_tokens"]))
    report("snapshots", {"target": options.target, "runs": options.repeat, **figures})


if __name__ == "__main__":
    main()

"""How fast do builds of llama.cpp, or its settings, read a prompt and verify drafted tokens? They take turns.

A variant is NAME or NAME=SETTING,...: `lib` is a folder with libllama.so, capitals are variables of the environment,
`poll` is that of llama/threads.py (or `none`: llama.cpp's own threads), `repack` is 1 or 0 (by default, what
llama/repacking.py decides), anything else is a parameter of llama.cpp's context, such as `flash_attn_type` (1, 0, or -1
for what llama.cpp finds best). Each variant runs in a process of its own. Passes come behind the last prompt. The least
time of all turns is reported: what other programs on the machine add is not the variant's.

    python -m winnow_research.studies.prefill qwen2.5-coder-1.5b old=lib=/old/lib new=lib=/new/lib,n_ubatch=256
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from winnow_engine.models.cache import locate
from winnow_research.machine import report
from winnow_research.studies import study_parser

_PASSES = (1, 2, 4, 8, 16)


def parse_variant(text: str) -> tuple[str, dict[str, str]]:
    """A variant's name and settings."""
    name, _, settings = text.partition("=")
    pairs = [setting.partition("=") for setting in settings.split(",") if setting]
    return name, {key: value for key, _, value in pairs}


class Variant:
    """A process that measures when it is told to."""

    def __init__(self, model: Path, settings: Mapping[str, str], prompts: Sequence[int], repeat: int) -> None:
        own = {key: value for key, value in settings.items() if key.isupper()}
        if "lib" in settings:
            own["LLAMA_CPP_LIB_PATH"] = settings["lib"]
        rest = {key: value for key, value in settings.items() if not key.isupper() and key != "lib"}
        command = [sys.executable, "-m", __spec__.name, "--child", json.dumps([str(model), rest, prompts, repeat])]
        self._process = subprocess.Popen(
            command, env=os.environ | own, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def turn(self) -> dict[str, list[float]]:
        """Wall and processor seconds by what was measured."""
        assert self._process.stdin
        assert self._process.stdout
        print("go", file=self._process.stdin)
        line = self._process.stdout.readline()
        assert line, "the variant's process ended: see above"
        return dict(json.loads(line))

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def _child(model: str, settings: Mapping[str, str], prompts: Sequence[int], repeat: int) -> None:
    import llama_cpp
    import numpy as np

    from winnow_engine.config import TargetOptions
    from winnow_engine.llama.batches import row_batch
    from winnow_engine.llama.context import context_params
    from winnow_engine.llama.model import LlamaModel
    from winnow_engine.llama.threads import ThreadPool

    repack = settings.get("repack")
    loaded, options = LlamaModel(Path(model), repack=None if repack is None else bool(int(repack))), TargetOptions()
    params = context_params(max(prompts) + 64, options, 1 + max(_PASSES))
    for key, value in settings.items():
        if key not in ("poll", "repack"):
            setattr(params, key, int(value))
    context = llama_cpp.llama_init_from_model(loaded.handle, params)
    assert context, "llama.cpp made no context"
    if settings.get("poll") != "none":
        ThreadPool(params.n_threads, int(settings.get("poll", 0))).attach(context)
    memory = llama_cpp.llama_get_memory(context)
    tokens = np.random.default_rng(0).integers(0, 4000, max(prompts) + max(_PASSES)).astype(np.int32)

    def run(start: int, end: int, every_row: bool) -> None:
        for first in range(start, end, params.n_batch):
            part = np.ascontiguousarray(tokens[first : min(first + params.n_batch, end)])
            rows = np.full(len(part), every_row, np.int8)
            rows[-1] = True
            assert llama_cpp.llama_decode(context, row_batch(part, rows)) == 0
        llama_cpp.llama_get_logits_ith(context, -1)

    def timed(start: int, end: int, every_row: bool) -> list[float]:
        llama_cpp.llama_memory_seq_rm(memory, 0, start, -1)
        wall, processor = time.perf_counter(), time.process_time()
        run(start, end, every_row)
        return [time.perf_counter() - wall, time.process_time() - processor]

    timed(0, min(prompts), False)  # the weights are read from disk
    for _ in sys.stdin:
        found = {f"prefill {prompt}": timed(0, prompt, False) for prompt in prompts}
        for size in _PASSES:
            found[f"pass {size}"] = _least([timed(prompts[-1], prompts[-1] + size, True) for _ in range(repeat)])
        print(json.dumps(found), flush=True)


def _least(times: Sequence[Sequence[float]]) -> list[float]:
    return [min(column) for column in zip(*times, strict=True)]


def main() -> None:
    """Measure, print and write results/prefill.json."""
    if sys.argv[1:2] == ["--child"]:
        _child(*json.loads(sys.argv[2]))
        return
    parser = study_parser(__file__, __doc__)
    parser.add_argument("model", metavar="NAME|FILE")
    parser.add_argument("variant", nargs="+", type=parse_variant)
    parser.add_argument("--prompt", type=int, nargs="+", default=[512], metavar="TOKENS")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=5, help="passes of each size a round")
    arguments = parser.parse_args()
    model = locate(arguments.model)
    variants = {
        name: Variant(model, settings, arguments.prompt, arguments.repeat) for name, settings in arguments.variant
    }
    turns: dict[str, list[dict[str, list[float]]]] = {name: [] for name in variants}
    for _ in range(arguments.rounds):
        for name, variant in variants.items():
            turns[name].append(variant.turn())
            print(name, turns[name][-1], file=sys.stderr)
    rows: dict[str, Any] = {}
    for name, variant in variants.items():
        variant.close()
        least = {what: _least([turn[what] for turn in turns[name]]) for what in turns[name][0]}
        rows[name] = {what: {"wall_s": round(wall, 4), "cpu_s": round(cpu, 4)} for what, (wall, cpu) in least.items()}
    report("prefill", {"model": model.name, "rounds": arguments.rounds, "least_s": rows})


if __name__ == "__main__":
    main()

"""Decoding beside other work: how long should llama.cpp's threads spin before they sleep?

Each figure is the median of tokens/s in fresh processes, alone and beside as many busy loops as there are cores.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from winnow_engine.models.registry import DEFAULT_TARGET
from winnow_research.machine import median, report
from winnow_research.studies import study_parser

_SPINS = (None, "0", "300", "3000")  # None: libgomp's own choice
_DECODE = """
import sys
from winnow_engine.models.cache import locate
from winnow_engine.prompting.messages import Message
from winnow_engine.core import Sampling
from winnow_engine.targets.base import Request
from winnow_engine.targets.local.target import LlamaTarget
target = LlamaTarget.open(locate(sys.argv[1]))
prompt = target.chat_prompt([Message("user", "What is a compiler? " * 30)])
made = target.generate(Request(prompt, Sampling(max_tokens=48)))
target.close()
print(made.decode_tokens_per_s)
"""


def decode(model: str, spins: str | None) -> float:
    """Tokens/s in a fresh process."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    }
    if spins is not None:
        environment["GOMP_SPINCOUNT"] = spins
    command = [sys.executable, "-c", _DECODE, model]
    return float(subprocess.run(command, env=environment, capture_output=True, check=True, text=True).stdout)


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Run programs that each want a core."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def measure(model: str, loops: int, repeat: int) -> dict[str, float]:
    """Median tokens/s by spin count. The counts take turns, so that drift affects all of them."""
    found: dict[str | None, list[float]] = {spins: [] for spins in _SPINS}
    with busy_loops(loops):
        for _ in range(repeat):
            for spins, speeds in found.items():
                speeds.append(decode(model, spins))
    return {spins or "default": median(speeds) for spins, speeds in found.items()}


def main() -> None:
    """Measure and report."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--model", default=DEFAULT_TARGET)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    alone = measure(arguments.model, 0, arguments.repeat)
    beside = measure(arguments.model, os.cpu_count() or 1, arguments.repeat)
    figures: dict[str, Any] = {
        "model": arguments.model,
        "decode_tokens_per_s": {"alone": alone, "beside_busy_loops": beside},
        "ratio_300_to_default": {
            "alone": round(alone["300"] / alone["default"], 2),
            "beside_busy_loops": round(beside["300"] / beside["default"], 2),
        },
    }
    report("contention", figures)


if __name__ == "__main__":
    main()

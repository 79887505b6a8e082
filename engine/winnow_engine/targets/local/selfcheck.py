"""Checks that this build of llama.cpp survives evaluating a model, in a child process, which may crash.

`python -m winnow_engine.targets.local.selfcheck MODEL` is that child. The reason: on a CPU with AMX, GCC 12 with
`GGML_NATIVE=ON` builds a library that dies of SIGSEGV in its first matrix product.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from winnow_engine.core import Sampling
from winnow_engine.errors import WinnowError
from winnow_engine.platform import crash
from winnow_engine.prompting.messages import Message
from winnow_engine.targets.base import Request

_TIMEOUT_S = 120
# Longer than the 32 rows from which on llama.cpp uses its matrix-matrix kernels.
_QUESTION = "one two three four five six seven eight nine ten " * 8


@dataclass(frozen=True, slots=True)
class BuildCheck:
    """Whether a decode worked, and what happened in words."""

    ok: bool
    detail: str


def check_build(model: Path) -> BuildCheck:
    """Evaluate a prompt and one token of `model` (the smallest one at hand) in a child process."""
    return run_child("winnow_engine.targets.local.selfcheck", str(model))


def run_child(module: str, *arguments: str, timeout_s: int = _TIMEOUT_S) -> BuildCheck:
    """Run a module that decodes and prints a line, in a child process."""
    # -P: a file of the folder that Winnow runs in must not pass for a module.
    command = [sys.executable, "-P", "-m", module, *arguments]
    try:
        child = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        return BuildCheck(False, f"llama.cpp did not finish decoding within {timeout_s} s")
    return describe_exit(child.returncode, child.stderr + child.stdout)


def describe_exit(code: int, output: str) -> BuildCheck:
    """What the child's exit code, as `subprocess` gives it, and its output say about the build."""
    if killer := crash(code):
        return BuildCheck(False, f"llama.cpp crashed with {killer}: this build does not suit this machine")
    return BuildCheck(code == 0, [f"exit code {code}", *output.strip().splitlines()][-1])


def main(model: Path) -> int:
    """Run as the child: return 0 and print one line if a decode worked."""
    # The parent must not load a library that may crash it.
    from winnow_engine.targets.local.target import LlamaTarget

    try:
        target = LlamaTarget.open(model)
        prompt = target.chat_prompt([Message("user", _QUESTION)])
        answer = target.generate(Request(prompt, Sampling(max_tokens=2)))
    except WinnowError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"decoded {model.name}: {answer.prompt_tokens} tokens in {answer.prefill_s:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

"""A context's threads are as many as asked for, compute the same, and end with it."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import llama_cpp
import numpy as np
import pytest

from winnow_engine.config import TargetOptions
from winnow_engine.llama.context import LlamaContext
from winnow_engine.llama.model import LlamaModel

TOKENS = np.arange(1, 40, dtype=np.int32)


# In a process of its own: threads of earlier tests may end at any time.
COUNTS = """
import sys
from contextlib import closing
import psutil
from winnow_engine.llama.threads import ThreadPool
before = psutil.Process().num_threads()
with closing(ThreadPool(int(sys.argv[1]))):
    started = psutil.Process().num_threads() - before
print(started, psutil.Process().num_threads() - before)
"""

ENDS = """
import sys
from contextlib import closing
from pathlib import Path
import numpy as np, psutil
from winnow_engine.config import TargetOptions
from winnow_engine.llama.context import LlamaContext
from winnow_engine.llama.model import LlamaModel

def evaluate():
    with closing(LlamaContext(model, 64, TargetOptions(n_threads=3))) as context:
        assert context.decode(np.arange(1, 40, dtype=np.int32), want_logits=True)
    return psutil.Process().num_threads()

with closing(LlamaModel(Path(sys.argv[1]))) as model:
    once = evaluate()  # a build with OpenMP keeps some of its own
    print(*(evaluate() - once for _ in range(3)))
"""


def numbers(program: str, argument: object) -> list[int]:
    command = [sys.executable, "-c", program, str(argument)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return [int(number) for number in run.stdout.split()]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_pool_has_the_threads_asked_for(n_threads: int) -> None:
    own = b"OPENMP = 1" not in llama_cpp.llama_print_system_info()
    assert numbers(COUNTS, n_threads) == [n_threads - 1 if own else 0, 0]


def test_the_number_of_threads_changes_no_logits(tiny_llama: Path) -> None:
    logits = []
    with closing(LlamaModel(tiny_llama)) as model:
        for n_threads in (1, 2, 4):
            with closing(LlamaContext(model, 64, TargetOptions(n_threads=n_threads))) as context:
                assert context.decode(TOKENS, want_logits=True)
                assert context.decode(TOKENS[:1], want_logits=True)
                logits.append(context.logits().copy())
    assert np.isfinite(logits[0]).all()
    np.testing.assert_allclose(logits[1], logits[0], atol=1e-4)
    np.testing.assert_allclose(logits[2], logits[0], atol=1e-4)


def test_threads_end_with_their_context(tiny_llama: Path) -> None:
    assert numbers(ENDS, tiny_llama) == [0, 0, 0]

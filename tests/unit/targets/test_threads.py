"""A context's threads are as many as asked for, compute the same, and end with it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np

from winnow_engine.config import TargetOptions
from winnow_engine.llama.context import LlamaContext
from winnow_engine.llama.model import LlamaModel

TOKENS = np.arange(1, 40, dtype=np.int32)


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

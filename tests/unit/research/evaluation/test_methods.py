"""The published method and MiniLM's tokeniser, on arrays and words small enough to check by hand."""

from pathlib import Path

import numpy as np
import pytest
from git_repositories import write

from winnow_engine.core import Cancellation, Folder
from winnow_engine.index.workspace import Sources, read_workspace
from winnow_engine.storage.store import Store
from winnow_research.evaluation.methods.base import Subject
from winnow_research.evaluation.methods.published import CHUNK, JointPrompt, attention, by_chunks, pflash


def test_attention_shares_key_heads_among_groups_of_query_heads() -> None:
    chance = np.random.default_rng(1)
    queries, keys = chance.normal(size=(3, 4, 8)).astype(np.float32), chance.normal(size=(10, 2, 8)).astype(np.float32)
    found = attention(queries, keys)
    assert found.shape == (4, 3, 10)
    np.testing.assert_allclose(found.sum(-1), 1, rtol=1e-5)
    logits = queries[1, 3] @ keys[:, 1].T / np.sqrt(8)
    np.testing.assert_allclose(found[3, 1], np.exp(logits) / np.exp(logits).sum(), rtol=1e-4)


def test_pflash_takes_the_highest_head_of_any_layer() -> None:
    keys = np.zeros((100, 1, 4), np.float32)
    keys[50] = 1
    loud, silent = np.full((8, 1, 4), 20, np.float32), np.zeros((8, 1, 4), np.float32)
    scores = pflash({0: silent, 1: loud}, {0: keys, 1: keys})
    assert 44 <= scores.argmax() <= 56
    assert scores[50] > 5 * scores[0]


@pytest.fixture
def subject(tmp_path: Path, store: Store) -> Subject:
    sources, names = Sources((Folder(tmp_path / "root"),)), ("alpha", "beta", "gamma", "omega")
    write(tmp_path / "root", {f"{name}.py": f"def {name}():\n    return 1\n" for name in names})
    return Subject(sources, read_workspace(sources, store, Cancellation()), store, len)


def test_a_unit_is_kept_when_all_chunks_it_touches_are(subject: Subject) -> None:
    starts = np.array([2, 32, 50, 96], np.int64)
    context = JointPrompt(np.zeros(128, np.int32), starts, np.array([32, 50, 96, 128], np.int64))
    scores = np.repeat(np.array([1, 4, 3, 2], np.float32), CHUNK)
    ranking = by_chunks(context, scores, subject)
    np.testing.assert_allclose(ranking.scores, [1, 4, (14 * 4 + 32 * 3) / 46, 2])
    assert [piece.unit for piece in ranking.keep(CHUNK)] == [1]
    assert [piece.unit for piece in ranking.keep(CHUNK + 1)] == [1, 2]
    assert [piece.unit for piece in ranking.keep(4 * CHUNK)] == [0, 1, 2, 3]

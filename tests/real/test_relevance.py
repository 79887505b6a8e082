"""A subset of `winnow bench relevance` small enough for every run: has recall dropped beyond noise?

Development repositories in three languages, 12K tokens each; a minute of encoding on one free core.
"""

import math
from pathlib import Path

import numpy as np
import pytest

from winnow_engine.core import Cancellation, Folder
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.index.workspace import Sources, read_workspace
from winnow_engine.question import Question
from winnow_engine.storage.store import Store
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.figures import BUDGETS, figures
from winnow_research.evaluation.methods.base import Subject
from winnow_research.evaluation.methods.lexical import Bm25
from winnow_research.evaluation.methods.minilm import MiniLm
from winnow_research.evaluation.methods.published import LOOK_AHEAD, FullDrafter, Published
from winnow_research.evaluation.methods.winnow import Winnow
from winnow_research.evaluation.repositories import Split, repositories
from winnow_research.evaluation.run import Evaluation
from winnow_research.evaluation.tasks import all_tasks
from winnow_research.evaluation.tasks.real import load, problems

pytestmark = pytest.mark.real_weights

REPOSITORIES = ("tornado", "wandb-core", "cordova-android")
TOKENS = 12_000
METHODS = ("BM25", "Winnow")
RECORDED = 0.88  # describe, kept whole within 500 tokens: 23 of 26


def test_recall_has_not_dropped_beyond_noise(qwen_small: Path, store: Store) -> None:
    drafter = Drafter(qwen_small)
    chosen = tuple(one for one in repositories(Split.DEVELOPMENT) if one.name in REPOSITORIES)
    evaluation = Evaluation(
        Corpus(chosen, drafter.count, questions=24), [Bm25(), Winnow(lambda: drafter)], store, print
    )
    outcomes = list(evaluation.run([all_tasks()["describe"]], [TOKENS]))
    winnow = next(figure for figure in figures(outcomes) if (figure.method, figure.group) == ("Winnow", "all"))
    assert winnow.cases >= 25
    assert winnow.kept[BUDGETS.index(500)].high >= RECORDED, winnow
    bm25, ours = ([one.kept[BUDGETS.index(1000)] for one in outcomes if one.method == name] for name in METHODS)
    parted = [mine for mine, other in zip(ours, bm25, strict=True) if mine != other]
    by_chance = sum(math.comb(len(parted), wins) for wins in range(sum(parted), len(parted) + 1)) / 2 ** len(parted)
    assert by_chance < 0.025, parted  # the sign test of the questions that only one method keeps


@pytest.mark.parametrize("split", Split)
def test_every_gold_of_the_written_questions_is_in_the_pinned_source(split: Split) -> None:
    written = {one: load(one) for one in repositories(split)}
    found = {one.name: problems(one, one.files(), questions) for one, questions in written.items() if questions}
    assert found
    assert not any(found.values()), found


def test_minilm_gives_the_similarities_its_authors_publish() -> None:
    encoder = MiniLm().encoder
    texts = ["That is a happy person", "That is a happy dog", "That is a very happy person", "Today is a sunny day"]
    vectors = encoder.embed(texts)
    np.testing.assert_allclose(vectors[0] @ vectors[1:].T, [0.695, 0.943, 0.257], atol=1e-3)


@pytest.fixture(scope="module")
def published(smollm2: Path) -> FullDrafter:
    return FullDrafter(smollm2)


def test_the_published_method_decodes_its_look_ahead_and_ranks_units(published: FullDrafter) -> None:
    prompt = published.vocabulary.tokenize("The capital of France is Paris. The capital of Italy is")
    behind = published.behind(prompt[:5])
    continued = published.continued(behind, prompt[5:], first=5)
    assert len(continued) == len(prompt) - 5 + LOOK_AHEAD
    text = b"".join(published.vocabulary.piece(int(token)) for token in continued[-LOOK_AHEAD:])
    assert text.startswith(b" Rome")


@pytest.mark.parametrize("rotated", [True, False])
def test_the_published_method_scores_every_unit(
    published: FullDrafter, store: Store, tmp_path: Path, rotated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Published, "_model", published)
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.py").write_text("def add(a, b):\n    return a + b\n\n\ndef greet(name):\n    print('hello', name)\n")
    sources = Sources((Folder(root),))
    workspace = read_workspace(sources, store, Cancellation())
    method = Published(Path(), rotated)
    ranking = method.ranker(Subject(sources, workspace, store, len))(Question("Which function says hello?"))
    assert ranking.scores.shape == (2,)
    assert np.isfinite(ranking.scores).all()
    assert [piece.unit for piece in ranking.keep(1000)] == [0, 1]
    assert ranking.keep(1) == []

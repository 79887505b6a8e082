"""A needle in 8,000 tokens of code, and what the drafter keeps of it at a twentieth of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Cancellation
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.store import Store
from winnow_engine.targets.local.target import LlamaTarget
from winnow_lsp.cli.main import main
from winnow_research.evaluation.answers.methods import Alternative, Product
from winnow_research.evaluation.answers.run import AnswerRun
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.methods.lexical import Bm25
from winnow_research.evaluation.needles import all_tests
from winnow_research.evaluation.needles.materials import load
from winnow_research.evaluation.needles.run import FULL, KEPT, WINNOW, NeedleRun
from winnow_research.evaluation.repositories import Split, repositories

pytestmark = pytest.mark.real_weights


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "index.sqlite")
    yield store
    store.close()


def corpus(drafter: Drafter, repository: str, questions: int = 1) -> Corpus:
    chosen = tuple(one for one in repositories(Split.DEVELOPMENT) if one.name == repository)
    return Corpus(chosen, drafter.count, questions)


def test_a_needle_in_code_is_kept(qwen_small: Path, store: Store) -> None:
    drafter = Drafter(qwen_small)
    assistant = Assistant(store, lambda: drafter)
    run = NeedleRun(load(corpus(drafter, "tornado")), assistant, Budget(keep_ratio=0.05), lambda _: None)
    tests = [all_tests()[f"single: {style} in code"] for style in ("code", "prose")]
    results = list(run.run(tests, [8000], 1))
    assert {(one.method, one.score) for one in results} == {(KEPT, 1.0)}
    assistant.close()


def test_a_word_that_stands_nowhere_else_finds_its_line_among_alike_ones(qwen_small: Path, store: Store) -> None:
    """Without a share for lone words, of three such lines one is kept."""
    drafter = Drafter(qwen_small)
    assistant = Assistant(store, lambda: drafter)
    run = NeedleRun(load(corpus(drafter, "tornado")), assistant, Budget(2000), lambda _: None)
    results = list(run.run([all_tests()["ruler niah_multikey_2"]], [6000], 3))
    assert sum(one.score for one in results) >= 2
    assistant.close()


def test_with_a_target_there_are_answers_from_what_is_kept_and_from_all(smollm2: Path, store: Store) -> None:
    drafter = Drafter(smollm2)
    assistant = Assistant(store, lambda: drafter, lambda: LlamaTarget.open(smollm2))
    run = NeedleRun(load(corpus(drafter, "tornado")), assistant, Budget(200), lambda _: None)
    methods = {one.method: one.score for one in run.run([all_tests()["single: prose in prose"]], [600], 1)}
    assert methods.keys() == {KEPT, WINNOW, FULL}
    assert methods[FULL] == 1
    assistant.close()


def test_answers_that_cannot_be_written_are_not_asked_for(
    smollm2: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "missing" / "answers.jsonl"
    assert main(["bench", "answers", "--drafter", str(smollm2), "--target", str(smollm2), "--out", str(path)]) == 1
    assert f"cannot write {path}: No such file or directory" in " ".join(capsys.readouterr().err.split())


def test_answers_are_asked_of_every_way_to_read(smollm2: Path, store: Store) -> None:
    drafter = Drafter(smollm2)
    assistant = Assistant(store, lambda: drafter, lambda: LlamaTarget.open(smollm2))
    cancellation = Cancellation()
    methods = [
        Product("Winnow", assistant, Budget(400), cancellation),
        Alternative(Bm25(), assistant, Budget(400), cancellation),
    ]
    run = AnswerRun(corpus(drafter, "zod"), methods, store, lambda _: None)
    results = list(run.run(6000))
    assert {one.method for one in results} == {"Winnow", "BM25"}
    assert run.absent == {}
    assistant.close()

"""`winnow bench answers` on real weights."""

from pathlib import Path

import pytest

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Cancellation
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.storage.store import Store
from winnow_engine.targets.local.target import LlamaTarget
from winnow_lsp.cli.main import main
from winnow_research.evaluation.answers.methods import Alternative, Product
from winnow_research.evaluation.answers.run import AnswerRun
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.methods.lexical import Bm25
from winnow_research.evaluation.repositories import Split, repositories

pytestmark = pytest.mark.real_weights


def corpus(drafter: Drafter, repository: str, questions: int = 1) -> Corpus:
    chosen = tuple(one for one in repositories(Split.DEVELOPMENT) if one.name == repository)
    return Corpus(chosen, drafter.count, questions)


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
    run = AnswerRun(corpus(drafter, "wandb-core"), methods, store, lambda _: None)
    results = list(run.run(6000))
    assert {one.method for one in results} == {"Winnow", "BM25"}
    assert run.absent == {}
    assistant.close()

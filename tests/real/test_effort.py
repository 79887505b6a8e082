"""The effort `deep` on real weights: the target reads the kept code once, and what it names is added."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from winnow_engine.assistant import Assistant
from winnow_engine.config import TargetOptions
from winnow_engine.core import Budget, Effort, Folder, Sampling
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.index.workspace import Sources
from winnow_engine.prompting.missing import ONE_LINE
from winnow_engine.question import Question
from winnow_engine.storage.store import Store
from winnow_engine.targets.answer import Answer
from winnow_engine.targets.base import Generation, Request
from winnow_engine.targets.local.target import LlamaTarget

pytestmark = pytest.mark.real_weights

WORKSPACE = Path(__file__).parents[2] / "engine" / "winnow_engine" / "drafter"
QUESTION = Question("How does the drafter cut a file's tokens into segments?")
NAMED = "no_such_name, profile.py"


class Names(LlamaTarget):
    """Says a line of ours in place of its own, which it has generated all the same."""

    line: str | None = None

    def generate(self, request: Request[Any]) -> Generation:
        generation = super().generate(request)
        ours = request.sampling == ONE_LINE and self.line is not None
        return replace(generation, text=self.line) if ours else generation


@pytest.fixture(scope="module")
def target(smollm2: Path) -> Names:
    opened = Names.open(smollm2, TargetOptions(place="cpu"))
    assert isinstance(opened, Names)
    return opened


@pytest.fixture(scope="module")
def assistant(smollm2: Path, target: Names, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assistant]:
    with (
        closing(Store(tmp_path_factory.mktemp("cache") / "cache.sqlite")) as store,
        closing(Assistant(store, lambda: Drafter(smollm2), lambda: target)) as assistant,
    ):
        yield assistant


def ask(assistant: Assistant, effort: Effort) -> Answer:
    sources, budget = Sources((Folder(WORKSPACE),)), Budget(400, effort=effort)
    return assistant.ask(sources, QUESTION, budget, Sampling(max_tokens=4), lambda _: None)


def test_a_deep_question_keeps_what_a_normal_one_does_and_its_stages_add_up(
    assistant: Assistant, target: Names
) -> None:
    target.line = None
    normal, deep = ask(assistant, "normal"), ask(assistant, "deep")
    assert all(span in deep.spans for span in normal.spans)
    stages = deep.stats.stages
    assert stages["look_again"] > 0
    assert sum(stages.values()) == pytest.approx(deep.stats.ttft_s, abs=0.1)


def test_the_target_reads_what_it_was_shown_once(assistant: Assistant, target: Names) -> None:
    target.line = NAMED
    normal, deep = ask(assistant, "normal"), ask(assistant, "deep")
    added = [span for span in deep.spans if span not in normal.spans]
    assert added
    assert {span.path for span in added} == {"profile.py"}
    assert 0 < sum(span.tokens for span in added) <= 400
    assert (
        deep.stats.generation.reused_tokens >= normal.stats.generation.prompt_tokens - 8
    )  # but for the template's end

"""The budget `auto` on real weights: a slow target is shown less, and nobody else."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from winnow_engine.assistant import Assistant
from winnow_engine.config import TargetOptions
from winnow_engine.core import Budget, Question, Sampling
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.workspace import Folder, Sources
from winnow_engine.selection import auto_budget as auto
from winnow_engine.store import Store, default_path
from winnow_engine.targets.local.target import LlamaTarget
from winnow_engine.targets.throughput import SLOW_CPU_TOKENS_PER_S

pytestmark = pytest.mark.real_weights

SOURCES = Sources((Folder(Path(__file__).parents[2] / "engine" / "winnow_engine" / "selection"),))
BROAD = Question("What is all of this for?")


@pytest.fixture
def target(smollm2: Path) -> Iterator[LlamaTarget]:
    with closing(LlamaTarget.open(smollm2, TargetOptions(place="cpu"))) as target:
        yield target


@pytest.fixture
def assistant(
    smollm2: Path, target: LlamaTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Assistant]:
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path))
    with (
        closing(Store(default_path())) as store,
        closing(Assistant(store, lambda: Drafter(smollm2), lambda: target)) as one,
    ):
        one.index(SOURCES)
        assert one.target is not None
        one.target.settle()
        yield one


def budget_tokens(assistant: Assistant, budget: Budget = Budget()) -> int:  # noqa: B008 a frozen value
    return assistant.select(SOURCES, BROAD, budget).stats.budget_tokens


def test_a_slow_target_is_shown_less_and_the_answer_says_so(
    assistant: Assistant, target: LlamaTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a quarter of the usual numbers, because SmolLM2 takes a minute for 2,600 tokens where others work too."""
    monkeypatch.setattr(auto, "_LEAST_TOKENS", 375)
    monkeypatch.setattr(auto, "_PREFILL_LIMITS", (650, 1000, 6000))
    answer = assistant.ask(SOURCES, BROAD, Budget(), Sampling(max_tokens=1), lambda _: None)
    assert (answer.stats.selection.budget_tokens, answer.stats.prefill_tokens_per_s) == (650, SLOW_CPU_TOKENS_PER_S)
    assert sum(span.tokens for span in answer.spans) <= 650
    assert any("because the target reads about 33 tokens a second" in notice for notice in answer.notices)
    throughput = target._parking.throughput
    assert throughput.measured_s == pytest.approx(1 / target.prefill_tokens_per_s)
    read = answer.stats.generation.prompt_tokens * throughput.measured_s
    assert 0 < read <= answer.stats.stages["prefill"]  # that is to the first token


def test_one_that_reads_fast_is_shown_all_and_what_the_user_set_is_kept(
    assistant: Assistant, target: LlamaTarget
) -> None:
    throughput = target._parking.throughput
    found = []
    for tokens_per_s in (10, 1000):
        throughput.measured_s = 1 / tokens_per_s
        found.append(budget_tokens(assistant))
        assert budget_tokens(assistant, Budget(keep_tokens=5000)) == 5000
        assert budget_tokens(assistant, Budget(keep_ratio=1.0)) > 5000
    assert found[0] == 2600 < found[1] <= 6000

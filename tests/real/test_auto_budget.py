"""The budget `auto` on real weights: a slow target is shown less, and nobody else."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from winnow_engine.assistant import Assistant
from winnow_engine.config import FileRules, TargetOptions
from winnow_engine.core import Budget, Folder, Sampling
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.index.workspace import Sources
from winnow_engine.question import Cursor, Question, Turn
from winnow_engine.storage.store import Store, default_path
from winnow_engine.targets.local.target import LlamaTarget

from .assistants import opened

pytestmark = pytest.mark.real_weights

FILES = FileRules(include=("budget.py", "overview.py", "ranking.py"))  # 6,000 tokens
SOURCES = Sources((Folder(Path(__file__).parents[2] / "engine" / "winnow_engine" / "selection"),), FILES)
BROAD = Question("What is all of this for?")


@pytest.fixture
def target(smollm2: Path) -> Iterator[LlamaTarget]:
    with closing(LlamaTarget.open(smollm2, TargetOptions(place="cpu"))) as target:
        yield target


@pytest.fixture(scope="module")
def indexed(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder with a complete index."""
    cache = tmp_path_factory.mktemp("indexed")
    with opened(cache, smollm2) as one:
        one.index(SOURCES)
    return cache


@pytest.fixture
def assistant(
    smollm2: Path, target: LlamaTarget, indexed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Assistant]:
    shutil.copytree(indexed, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path))
    with (
        closing(Store(default_path())) as store,
        closing(Assistant(store, lambda: Drafter(smollm2), lambda: target)) as one,
    ):
        assert one.target is not None
        one.target.settle()
        yield one


def budget_tokens(assistant: Assistant, budget: Budget = Budget()) -> int:  # noqa: B008 a frozen value
    return assistant.select(SOURCES, BROAD, budget).stats.budget_tokens


def test_a_slow_target_is_shown_less_and_the_answer_says_so(assistant: Assistant, target: LlamaTarget) -> None:
    hurried = Budget(patience_s=0.01)
    assumed = target.prefill_tokens_per_s
    answer = assistant.ask(SOURCES, BROAD, hurried, Sampling(max_tokens=1), lambda _: None)
    assert (answer.stats.selection.budget_tokens, answer.stats.prefill_tokens_per_s) == (800, assumed)
    assert sum(span.tokens for span in answer.spans) <= 800
    (notice,) = (notice for notice in answer.notices if "which the target reads" in notice)
    assert notice.startswith("kept up to 800 tokens of code instead of ")
    assert notice.endswith("which the target reads within 0.01 s (`winnow.patience`)")
    throughput = target._session.throughput
    assert throughput.measured_s == pytest.approx(1 / target.prefill_tokens_per_s)
    read = throughput.seconds(0, answer.stats.generation.prompt_tokens, throughput.measured_s)
    assert 0 < read <= answer.stats.stages["prefill"]  # that is to the first token


def test_a_slow_target_reads_the_ends_of_a_long_text_and_a_follow_up_goes_on_from_them(assistant: Assistant) -> None:
    lines = [f"tests/test_budget.py:{n}: AssertionError: {n} != {n + 1}" for n in range(300)]
    log, hurried = "\n".join(["Why does this fail?", *lines]), Budget(patience_s=0.01)
    first = assistant.ask(SOURCES, Question(log), hurried, Sampling(max_tokens=1), lambda _: None)
    assert 800 < first.stats.generation.prompt_tokens < 1600
    assert any("lines left out in the middle of the question" in notice for notice in first.notices)
    question = Question("Where is that?", earlier=(Turn(log, first.text),))
    second = assistant.ask(SOURCES, question, hurried, Sampling(max_tokens=1), lambda _: None)
    assert second.stats.generation.reused_tokens >= first.stats.generation.prompt_tokens


def test_no_notice_of_patience_where_more_time_would_show_no_more(assistant: Assistant, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/Makefile").write_text("test:\n\tpytest\n")
    (tmp_path / "shop/basket.py").write_text("def add(name):\n    return name\n" + "add(1)\n" * 2000)
    sources, question = Sources((Folder(tmp_path / "shop"),)), Question("How do I run its tests?")
    asked = assistant.ask(sources, question, Budget(patience_s=0.01), Sampling(max_tokens=1), lambda _: None)
    assert asked.stats.selection.budget_tokens == 800
    assert not [notice for notice in asked.notices if "which the target reads" in notice]


def test_a_fast_one_is_shown_all_and_what_the_user_set_is_kept(assistant: Assistant, target: LlamaTarget) -> None:
    throughput = target._session.throughput
    found = []
    for tokens_per_s in (10, 130, 1000):
        throughput.measured_s = 1 / tokens_per_s
        found.append(budget_tokens(assistant))
        assert budget_tokens(assistant, Budget(keep_tokens=5000)) == 5000
        assert budget_tokens(assistant, Budget(keep_ratio=1.0)) > 5000
        assert budget_tokens(assistant, Budget(patience_s=1e6)) > 1200
    assert found[:2] == [800, 1200]
    assert 1200 < found[2] <= 6000


def test_a_long_selection_is_kept_whole_beside_400_tokens_however_slow_the_target(
    assistant: Assistant, target: LlamaTarget
) -> None:
    target._session.throughput.measured_s = 1.0
    place = "budget.py"
    (folder,) = SOURCES.folders
    lines = (folder.root / place).read_text().splitlines()
    question = Question("explain this", Cursor(place, 1, len(lines)))
    selection = assistant.select(SOURCES, question, Budget())
    shown = {n for s in selection.spans if s.path == place for n in range(s.start_line, s.end_line + 1)}
    assert shown == set(range(1, len(lines) + 1))
    selected = sum(span.tokens for span in selection.spans if span.path == place)
    assert selected > 800
    assert selection.stats.budget_tokens == selected + 400

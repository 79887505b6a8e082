"""Hand-written questions about a pinned release of click: is the right unit among the spans kept?"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from winnow_engine.assistant import Assistant
from winnow_engine.config import FileRules
from winnow_engine.core import Budget, Folder, Span
from winnow_engine.index.workspace import Sources
from winnow_engine.question import Question
from winnow_research.evaluation.cases import Gold

from .assistants import opened
from .click_sources import fetch, questions

pytestmark = pytest.mark.real_weights

# Few files that answer many questions: all of click, and core.py alone, take a minute more.
FILES = tuple(f"src/click/{name}.py" for name in ("_termui_impl", "exceptions", "formatting", "parser", "utils"))
QUESTIONS = [one for one in questions() if {gold.path for gold in one.golds} <= set(FILES)]


@pytest.fixture(scope="module")
def assistant(qwen_small: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assistant]:
    with opened(tmp_path_factory.mktemp("click"), qwen_small) as one:
        yield one


def kept(assistant: Assistant) -> list[tuple[Span, ...]]:
    sources = Sources((Folder(fetch()),), FileRules(include=FILES))
    return [assistant.select(sources, Question(written.text), Budget()).spans for written in QUESTIONS]


@pytest.fixture(scope="module")
def expected(assistant: Assistant) -> list[tuple[Span, ...]]:
    """What is kept where every unit is scored."""
    return kept(assistant)


def golds(spans: tuple[Span, ...]) -> set[Gold]:
    return {Gold(span.path, span.start_line, span.end_line) for span in spans}


def scored(spans: tuple[Span, ...]) -> dict[tuple[str, int], float]:
    """Scores by place, without the order in which a file's units are shown, which parts two that tie."""
    return {(span.path, span.start_line): span.score - span.features.get("order", 0.0) for span in spans}


def test_the_right_unit_is_kept_in_six_of_seven(expected: list[tuple[Span, ...]]) -> None:
    found = zip(QUESTIONS, expected, strict=True)
    missed = [written.text for written, spans in found if not set(written.golds) <= golds(spans)]
    assert len(missed) <= 1, missed


def test_few_candidates_keep_what_scoring_every_unit_keeps(
    assistant: Assistant, expected: list[tuple[Span, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow_engine.selection.two_levels.LEAST_TOKENS", 0)
    for name, most in ("_COARSE", 64), ("_WORDS", 32), ("_LINKED", 16):
        monkeypatch.setattr(f"winnow_engine.selection.two_levels.{name}", most)
    monkeypatch.setattr("winnow_engine.index.file_table.SAMPLE_UNITS", 64)
    found = kept(assistant)
    shares = [len(golds(some) & golds(all_of)) / len(all_of) for some, all_of in zip(found, expected, strict=True)]
    assert sum(shares) / len(shares) > 0.9, shares
    for some, all_of in zip(found, expected, strict=True):
        few, scores = scored(some), scored(all_of)
        best = max(few, key=lambda place: few[place])
        assert scores[best] > max(scores.values()) - 0.1, best  # or a tie

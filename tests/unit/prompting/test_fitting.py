"""A question with a long text, as tests print it, for targets of all speeds and contexts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from git_repositories import write

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Folder
from winnow_engine.errors import BudgetError
from winnow_engine.index.workspace import Sources
from winnow_engine.prompting.conversation import Conversation
from winnow_engine.prompting.fitting import Fitted, Limits, fit
from winnow_engine.question import Question, Turn
from winnow_engine.selection.ranking import Ranked
from winnow_engine.storage.store import Store
from winnow_lsp.cli.report import notice_lines

from ..selection.words import Words

FIRST, LAST = "tests/test_rate.py::test_tax FAILED", "E   AssertionError: 19 != 7"
CALLS = [f"helper_{n}.py:{n}: in call_{n}" for n in range(2000)]
TRACE = "\n".join([FIRST, *CALLS[:1500], "rate.py:404: in tax", *CALLS[1500:], LAST])
LOG = f"Why does this fail?\n\n```\n{TRACE}\n```"


@dataclass
class Reader:
    """A model to which a word is a token, with the texts that it was to count."""

    prefill_tokens_per_s: float | None = None
    context_limit: int = 100_000
    parameters: int | None = None
    counted: list[str] = field(default_factory=list)

    def count(self, text: str) -> int:
        self.counted.append(text)
        return len(text.split())

    def chat_prompt(self, messages: Any, *_: object, **__: object) -> list[str]:
        return [word for message in messages for word in message.content.split()]


@dataclass
class Asking:
    """Questions about one workspace, fitted to a reader."""

    assistant: Assistant
    sources: Sources
    known: dict[Question, Ranked] = field(default_factory=dict)

    def ranked(self, text: str, *earlier: Turn) -> Ranked:
        question = Question(text, earlier=earlier)
        if question not in self.known:
            self.known[question] = self.assistant.ranked(self.sources, question, Budget())
        return self.known[question]

    def __call__(
        self,
        reader: Reader,
        text: str = LOG,
        *earlier: Turn,
        had: Conversation | None = None,
        tokens: int | None = None,
    ) -> Fitted:
        limits = Limits(Budget(tokens), cast("Any", reader), 100)
        return fit(self.ranked(text, *earlier), had, limits)


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    folder = tmp_path_factory.mktemp("asked")
    code = "".join(f"def step_{n}(value):\n    return value + {n}\n\n\n" for n in range(100))
    write(folder / "root", {"rate.py": code + "\n\ndef tax(rate):\n    return rate * 19\n"})
    with (
        closing(Store(folder / "index.sqlite")) as store,
        closing(Assistant(store, cast("Any", Words))) as assistant,
    ):
        yield Asking(assistant, Sources((Folder(folder / "root"),)))


def left_out(fitted: Fitted) -> list[str]:
    return [notice for notice in fitted.selection.notices if "left out in the middle of the question" in notice]


@pytest.mark.parametrize(("tokens_per_s", "most"), [(1, 1200), (200, 2000), (400, 4000)])
def test_a_slow_target_reads_both_ends_of_a_long_text_beside_code(
    tokens_per_s: float, most: int, asking: Asking
) -> None:
    fitted = asking(Reader(tokens_per_s))
    shown = fitted.messages[-1].content
    _, _, text = shown.rpartition("Question: ")
    assert text.startswith(f"Why does this fail?\n\n```\n{FIRST}\n{CALLS[0]}\n")
    assert text.endswith(f"{CALLS[-1]}\n{LAST}\n```")
    (gap,) = (line for line in text.splitlines() if line.startswith("⋯"))
    begin, end = text.split(gap)
    assert len(begin) < len(end)
    assert set(text.splitlines()) <= {gap, *LOG.splitlines()}
    missing = len(LOG.splitlines()) - len(text.splitlines()) + 1
    assert gap == f"⋯ {missing:,} lines left out"
    (notice,) = left_out(fitted)
    assert notice.startswith(f"{missing:,} lines left out in the middle of the question; the target reads ")
    assert ("tokens of it: pass" if tokens_per_s == 1 else "tokens of it within 10 s: pass") in notice
    (line,) = notice_lines([notice], {"indexed_tokens": 1, "workspace_tokens": 1})
    assert line.endswith("or have it read more with --set patience or a number for --set budget")
    assert 0.8 * most < len(fitted.prompt) < most + 100
    assert "rate * 19" in shown


def test_lines_left_out_lead_to_code(asking: Asking) -> None:
    ranked = asking.ranked(LOG)
    [lines] = ranked.question.places.values()
    assert set(lines) == {404}
    assert "rate.py:404" not in asking(Reader(200)).messages[-1].content


def test_a_text_in_one_line_is_cut_within_it(asking: Asking) -> None:
    fitted = asking(Reader(1), f'Why?\n\n```\n{{"a": [{"1, " * 5000}9]}}\n```')
    _, _, text = fitted.messages[-1].content.rpartition("Question: ")
    assert text.startswith('Why?\n\n```\n{"a": [1, 1, ')
    assert text.endswith("1, 1, 9]}\n```")
    assert "characters left out in the middle of the question" in left_out(fitted)[0]


@pytest.mark.parametrize(("reader", "tokens"), [(Reader(), None), (Reader(5000), None), (Reader(1), 500)])
def test_a_fast_target_or_one_with_a_budget_reads_all_of_it(reader: Reader, tokens: int, asking: Asking) -> None:
    fitted = asking(reader, tokens=tokens)
    assert fitted.messages[-1].content.endswith(f"Question: {LOG}")
    assert not left_out(fitted)


def test_a_text_above_the_context_is_refused_only_where_the_user_set_a_budget(asking: Asking) -> None:
    reader = Reader(context_limit=3000)
    fitted = asking(reader)
    assert LAST in fitted.messages[-1].content
    assert 2000 < len(fitted.prompt) <= 2900
    assert "the target's context of 3,000 has no room" in left_out(fitted)[0]
    with pytest.raises(BudgetError, match="the question does not fit"):
        asking(reader, tokens=500)


def test_a_follow_up_goes_on_from_what_was_shown_of_the_text(asking: Asking) -> None:
    reader = Reader(200)
    first = asking(reader)
    had = first.answered(asking.ranked(LOG).question, "It is 19.")
    turn = Turn(LOG, "It is 19.")
    assert had.turns == (turn,)
    second = asking(reader, "Where is 19 set?", turn, had=had)
    assert second.messages[: len(first.messages)] == first.messages
    assert second.prompt[: len(first.prompt)] == first.prompt
    fresh = asking(reader, "Where is 19 set?", turn)
    assert LAST in fresh.messages[1].content
    assert len(fresh.messages[1].content.split()) <= 751


def test_the_words_of_a_usual_question_are_not_counted(asking: Asking) -> None:
    reader = Reader(1)
    fitted = asking(reader, "How is the tax computed?")
    assert not reader.counted
    assert not left_out(fitted)

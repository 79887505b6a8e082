"""A second look: the target, shown what is kept, names what it misses, and the code this leads to is added.

It is asked behind its prompt. The prompt that follows begins with the same text, the question included, so the target
reads all of that once. What it was asked and what it said are left out again; the code and, once more, the question
come in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from winnow_engine.core import Sampling, Span
from winnow_engine.errors import CancelledError, WinnowError
from winnow_engine.prompting.conversation import Conversation
from winnow_engine.prompting.fitting import Fitted, Limits
from winnow_engine.prompting.layout import continued_messages
from winnow_engine.prompting.messages import Message
from winnow_engine.selection.auto_budget import LEAST_TOKENS
from winnow_engine.selection.named import named_in
from winnow_engine.selection.ranking import Ranked

ONE_LINE = Sampling(max_tokens=24, stop=("\n",), thinking="off", thinking_tokens=1)
"""How the target says what it misses."""
_ASKED = (
    "Do not answer yet. If the code above is not enough to answer, name the functions, classes or files of this "
    "repository to read next: names only, on one line, separated by commas."
)
_MOST_ROUNDS = 2
_SHARE = 4  # of the budget, that may be added
_LEAST_ROOM = 32  # tokens, into which no function fits

Say = Callable[[Any], str]
"""Has the target answer a prompt in a line."""


def look_again(ranked: Ranked, fitted: Fitted, limits: Limits, say: Say) -> Iterator[tuple[Fitted, tuple[str, ...]]]:
    """What is fitted with the code added that the target misses, and the names and files that led to it.

    Up to twice, each time anew; not at all if it misses nothing that there is. A failure ends it, with a notice. What a
    question about a change is shown stays as it is.
    """
    left = _room(ranked, limits) if ranked.question.change is None else 0
    for _ in range(_MOST_ROUNDS):
        if left < _LEAST_ROOM or _all_shown(ranked, fitted):
            return
        try:
            line = say(limits.reader.chat_prompt(_asking(fitted.messages), thinking="off"))
            named = named_in(line, ranked, _shown(ranked, fitted.selection.spans))
            new = ranked.spans_of(named.units, left)
            more = _extended(ranked, fitted, new, limits) if new else None
        except CancelledError:
            raise
        except WinnowError as error:
            yield _with_notice(fitted, f"the target could not be asked what it misses: {error}"), ()
            return
        if more is None:
            return
        left, fitted = left - sum(span.tokens for span in new), more
        yield fitted, named.words


def _room(ranked: Ranked, limits: Limits) -> int:
    """How many tokens may be added: a quarter of the budget, or 400 if that is less and the budget is not."""
    wanted, most = limits.wanted(ranked), limits.budget.most_tokens
    more = max(wanted // _SHARE, min(wanted, LEAST_TOKENS))
    return more if most is None else min(more, most - wanted)


def _all_shown(ranked: Ranked, fitted: Fitted) -> bool:
    return fitted.selection.stats.kept_tokens >= int(ranked.unit_tokens.sum())


def _shown(ranked: Ranked, spans: Sequence[Span]) -> frozenset[int]:
    """The units that are shown whole."""
    workspace = ranked.workspace
    begun = {workspace.unit_at(span.path, span.start_line): span.end_line for span in spans}
    return frozenset(number for number, end in begun.items() if end >= workspace.units[number][1].end_line)


def _asking(messages: Sequence[Message]) -> list[Message]:
    return _behind(messages, _ASKED)


def _behind(messages: Sequence[Message], text: str) -> list[Message]:
    """The messages with some text behind the last one."""
    *said, last = messages
    return [*said, replace(last, content=f"{last.content}\n\n{text}")]


def _extended(ranked: Ranked, fitted: Fitted, new: Sequence[Span], limits: Limits) -> Fitted | None:
    """What is fitted with some spans added; None if the target's context does not hold them."""
    (added,) = continued_messages((), ranked.workspace, new, ranked.question)
    messages = _behind(fitted.messages, added.content)
    prompt = limits.prompt(messages)
    if len(prompt) > limits.room:
        return None
    selection = fitted.selection
    spans = Conversation.of(ranked.question, "", fitted.messages, selection).with_spans(new)
    stats = replace(selection.stats, kept_tokens=sum(span.tokens for span in spans))
    return Fitted(replace(selection, spans=spans, stats=stats), messages, prompt)


def _with_notice(fitted: Fitted, notice: str) -> Fitted:
    selection = fitted.selection
    return replace(fitted, selection=replace(selection, notices=(*selection.notices, notice)))

"""The questions behind an editor's one-click requests: about a symbol, a selection or a problem."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from winnow_engine.question import WHY, Cursor, Question

_LONGEST_PROBLEM = 1000  # characters; template errors of C++ run to pages


class Topic(StrEnum):
    """A question about the code at the cursor."""

    CODE = "code"
    DIAGNOSTIC = "diagnostic"
    USAGE = "usage"
    IMPACT = "impact"
    WHY = "why"


_WORDING = {
    Topic.CODE: "Explain {it}: what it does, how, and what it relies on.",
    Topic.DIAGNOSTIC: "Explain this problem in {it}, and how to fix it:{problems}",
    Topic.USAGE: "How is {it} used? Name the places that use it, and what for.",
    Topic.IMPACT: "What would break if {it} changed? Name the code that relies on it, and how.",
    Topic.WHY: "Why is {it} so? Name each commit that made it so by its id, and say which reason its message gives.",
}


def ask_about(topic: Topic, cursor: Cursor, name: str = "", problems: Sequence[str] = ()) -> Question:
    """The question about the symbol called `name`, or about the selected code where that is empty."""
    it = f"`{name}`" if name else "the selected code"
    listed = "".join(f"\n- {problem[:_LONGEST_PROBLEM]}" for problem in problems)
    return Question(_WORDING[topic].format(it=it, problems=listed), cursor, changes=WHY if topic is Topic.WHY else None)

"""Cuts results to the budget that an agent has asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from winnow_engine.errors import BudgetError

R = TypeVar("R", bound=BaseModel)
T = TypeVar("T")


def json_of(result: BaseModel) -> dict[str, Any]:
    """The result as JSON, without what is not set."""
    return result.model_dump(mode="json", exclude_none=True)


def text_of(result: BaseModel) -> str:
    """The result as an agent reads it: JSON without spaces between its parts."""
    return json.dumps(json_of(result), ensure_ascii=False, separators=(",", ":"))


def fitted(make: Callable[[Sequence[T]], R], items: Sequence[T], budget: int, count: Callable[[str], int]) -> R:
    """The result made of as many of the first items as fit a budget in tokens. BudgetError if it does not fit empty."""
    fits, too_many = -1, len(items) + 1
    middle = len(items)  # most often, all of them fit
    while too_many - fits > 1:
        if count(text_of(make(items[:middle]))) <= budget:
            fits = middle
        else:
            too_many = middle
        middle = (fits + too_many) // 2
    if fits < 0:
        raise BudgetError(f"nothing of this result fits {budget:,} tokens: raise the budget")
    return make(items[:fits])

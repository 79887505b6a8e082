"""Units without their text, which is all that filling a budget needs."""

from __future__ import annotations

from dataclasses import dataclass

from winnow_cuda.shapes import Int32
from winnow_engine.selection.budget import KeptUnit


@dataclass
class CountedUnits:
    """Units by their tokens, int32 [U], which may be cut anywhere."""

    tokens: Int32

    def whole(self, unit: int) -> KeptUnit:
        """All of a unit."""
        return KeptUnit(unit, 1, 1, int(self.tokens[unit]))

    def cut(self, unit: int, tokens: int, _must: tuple[int, int] | None) -> KeptUnit | None:
        """The first tokens of a unit."""
        return KeptUnit(unit, 1, 1, min(tokens, int(self.tokens[unit])))

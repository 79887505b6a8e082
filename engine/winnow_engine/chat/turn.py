"""Records the assistant's turn while it streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from uuid import uuid4

from winnow_engine.prompting.tools import CallDelta, ToolCall
from winnow_engine.untrusted import json_object


@dataclass(frozen=True, slots=True)
class ThoughtDelta:
    """A piece of what the assistant thinks before it answers."""

    text: str


TurnPiece = str | CallDelta | ThoughtDelta
TurnPieceSink = Callable[[TurnPiece], None]


class TurnRecorder:
    """Records what is said and called, and passes it on."""

    def __init__(self, on_piece: TurnPieceSink) -> None:
        self._on_piece = on_piece
        self._said: list[str] = []
        self._calls: list[ToolCall] = []
        self._numbers: dict[int, int] = {}
        self._begun = 0  # calls passed on
        self._told = 0  # characters of the last one's arguments

    @property
    def text(self) -> str:
        """The text said so far."""
        return "".join(self._said)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls, in order."""
        return tuple(self._calls)

    def say(self, text: str) -> None:
        """Add text."""
        self._said.append(text)
        self._on_piece(text)

    def think(self, text: str) -> None:
        """Pass on a piece of a thought, which is not recorded as said."""
        self._on_piece(ThoughtDelta(text))

    def call(self, name: str, arguments: str) -> None:
        """Add a whole call."""
        self._go_on(self._added("", name), arguments)

    def go_on(self, delta: CallDelta) -> None:
        """Add a piece of a call that a server numbered. Ollama has given several calls the same number."""
        number = self._numbers.get(delta.index)
        if number is None or (delta.name and delta.id not in ("", self._calls[number].id)):
            number = self._numbers[delta.index] = self._added(delta.id, delta.name)
        if delta.arguments:
            self._go_on(number, delta.arguments)

    def end(self, *, cut: bool) -> None:
        """Pass on what waits. Calls without arguments get `{}`, the last one only if the turn was not cut off."""
        for number, call in enumerate(self._calls):
            if not (call.arguments or (cut and number + 1 == len(self._calls))):
                self._calls[number] = replace(call, arguments="{}")
        self._pass_on(ended=True)

    def _added(self, call_id: str, name: str) -> int:
        self._calls.append(ToolCall(call_id or f"call_{uuid4().hex[:24]}", name, ""))
        return len(self._calls) - 1

    def _go_on(self, number: int, arguments: str) -> None:
        call = self._calls[number]
        self._calls[number] = replace(call, arguments=call.arguments + arguments)
        if number < self._begun - 1:  # the call was whole
            self._on_piece(CallDelta(number, arguments=arguments))
        self._pass_on()

    def _pass_on(self, *, ended: bool = False) -> None:
        """Pass on calls one after the other: one waits for the arguments of that before, unless the turn has ended."""
        for number in range(max(self._begun - 1, 0), len(self._calls)):
            call = self._calls[number]
            before = self._calls[number - 1].arguments if number == self._begun > 0 else ""
            if not ended and (not call.arguments or json_object(before) is None):
                return
            if number == self._begun:
                self._begun, self._told = number + 1, 0
                self._on_piece(CallDelta(number, call.id, call.name))
            if told := call.arguments[self._told :]:
                self._told += len(told)
                self._on_piece(CallDelta(number, arguments=told))

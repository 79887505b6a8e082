"""The `session/update` notifications of one prompt."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from winnow_engine.core import Citation, Kept, Span, counted
from winnow_lsp.host.reply import Reply, Waiting, code, place

_BETWEEN_COUNTS_S = 0.25
_NUMBERS = re.compile(r"[\d,.]+")

Update = Callable[[Mapping[str, Any]], None]
Status = Literal["pending", "in_progress", "completed", "failed"]


class _ToolCall:
    """Something that takes time, whose title says what is being waited for."""

    def __init__(self, update: Update, identity: str, kind: str) -> None:
        self._update, self._identity, self._kind = update, identity, kind
        self.status: Status = "pending"

    def show(self, title: str, status: Status, **fields: Any) -> None:
        """Show the call, or what has changed about it."""
        new = {"sessionUpdate": "tool_call", "kind": self._kind} if self.status == "pending" else _CHANGED
        self.status = status
        self._update({**new, "toolCallId": self._identity, "title": title, "status": status, **fields})

    def fail(self, title: str) -> None:
        """End it without a result, if it has not ended."""
        if self.status == "in_progress":
            self.show(title, "failed")


_CHANGED = {"sessionUpdate": "tool_call_update"}


class Updates:
    """Streams one answer: the search with the places that were kept, the wait for the target, the text, the sources."""

    def __init__(self, update: Update, folder: Path, turn: str, now: Callable[[], float] = time.monotonic) -> None:
        self._update, self._folder, self._now = update, folder, now
        self._search = _ToolCall(update, f"{turn}-search", "search")
        self._read = _ToolCall(update, f"{turn}-read", "read")
        self._said, self._said_s = "", 0.0

    def begin(self) -> None:
        """Say that the search has begun."""
        self._search.show("Searching the repository", "in_progress")

    def stage(self, line: str) -> None:
        """Say what is being waited for, such as `reading 512 of 2,900 tokens, about 14 s`."""
        said, now = _NUMBERS.sub("", line), self._now()
        if said == self._said and now - self._said_s < _BETWEEN_COUNTS_S:
            return
        self._said, self._said_s = said, now
        for call in (self._search, self._read):
            if call.status == "in_progress":
                call.show(line.capitalize(), "in_progress")

    def kept(self, kept: Kept) -> None:
        """Show the places that the answer will rest on, and how long the first word will take."""
        files = len({span.path for span in kept.spans})
        self._search.show(
            f"Kept {counted(len(kept.spans), 'place')} in {counted(files, 'file')}",
            "completed",
            locations=[{"path": str(self._folder / span.path), "line": span.start_line} for span in kept.spans],
            content=[{"type": "content", "content": _text(self._links(kept.spans))}],
        )
        if self._read.status in ("pending", "in_progress"):
            waiting = Waiting()
            waiting.kept(kept)
            self._read.show(waiting.line().capitalize(), "in_progress")

    def text(self, text: str) -> None:
        """Stream more of the answer."""
        self._has_read()
        self._update({"sessionUpdate": "agent_message_chunk", "content": _text(text)})

    def thought(self, text: str) -> None:
        """Stream what a reasoning model thinks before it answers."""
        self._has_read()
        self._update({"sessionUpdate": "agent_thought_chunk", "content": _text(text)})

    def end(self, reply: Reply) -> None:
        """Close the answer with the lines it cites, and with what the user should know."""
        sources = f"\n\n**Sources**\n\n{self._links(reply.citations)}" if reply.citations else ""
        notes = "".join(f"\n\n*Note: {notice}*" for notice in reply.notices)
        if sources or notes:
            self.text(f"{sources}{notes}\n")
        self.abandon()

    def abandon(self) -> None:
        """End what has not ended."""
        self._search.fail("The search was stopped")
        self._read.fail("The answer was stopped")

    def _has_read(self) -> None:
        if self._read.status == "in_progress":
            self._read.show("The code that was kept", "completed")

    def _links(self, places: Iterable[Citation | Span]) -> str:
        """A Markdown list of links to lines: an anchor of one line is what every client understands."""
        return "\n".join(
            f"- [{code(place(one))}]({(self._folder / one.path).as_uri()}#L{one.start_line})" for one in places
        )


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}

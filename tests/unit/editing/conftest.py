"""Workspaces made of a few files, and a target that answers what a test says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from git_repositories import write

from winnow_engine.core import Cancellation, Folder, Thinking
from winnow_engine.index.workspace import Sources, Workspace, read_workspace
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import NO_TOOLS, Tools
from winnow_engine.selection.ranking import Selection, SelectionStats
from winnow_engine.storage.store import Store
from winnow_engine.targets.base import Generation, Request

Reading = Callable[[Mapping[str, str | bytes]], Workspace]


@pytest.fixture
def reading(tmp_path: Path, store: Store) -> Reading:
    """Makes a workspace of files."""

    def read(files: Mapping[str, str | bytes]) -> Workspace:
        write(tmp_path / "root", files)
        return read_workspace(Sources((Folder(tmp_path / "root"),)), store, Cancellation())

    return read


class Words(list[Message]):
    """A prompt of a token a word."""

    def __len__(self) -> int:
        return sum(len(message.content.split()) for message in self)


@dataclass
class Scripted:
    """A target that gives one answer, in pieces of some characters, and stops when it is told to."""

    answer: str
    finish: str = "eos"
    context_limit: int = 100_000
    step: int = 3
    asked: list[Any] = field(default_factory=list)
    heard: str = ""

    def count(self, text: str) -> int:
        return len(text.split())

    def thinking_tokens(self, _: object) -> int:
        return 0

    def seconds_to_read(self, _: object) -> float:
        return 1.0

    def chat_prompt(self, messages: Sequence[Message], tools: Tools = NO_TOOLS, thinking: Thinking = "auto") -> Words:
        return Words(messages)

    def generate(self, request: Request[Words]) -> Generation:
        self.asked.append(request)
        self.heard, finish = "", self.finish
        for start in range(0, len(self.answer), self.step):
            if request.cancellation.cancelled:
                finish = "cancelled"
                break
            piece = self.answer[start : start + self.step]
            self.heard += piece
            request.on_text(piece)
        return Generation(self.heard, finish, 9, 0, 0.0, 0.0, 9, 0.0)  # type: ignore[arg-type]


@dataclass
class Selecting:
    """An assistant that keeps the spans a test says."""

    workspace: Workspace
    scripted: Scripted
    spans: tuple[Any, ...] = ()
    questions: list[Any] = field(default_factory=list)

    @property
    def target(self) -> Any:
        return SimpleNamespace(wait_for=lambda _: self.scripted)

    def read(self, *_: object) -> Workspace:
        return self.workspace

    def select(self, _sources: object, question: Any, *_: object) -> Selection:
        self.questions.append(question)
        return Selection(self.workspace, self.spans, SelectionStats(100, 10, 100), ("a notice",))

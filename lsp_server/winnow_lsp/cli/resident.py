"""Answers questions in the command's own process, with models that load for the first one and stay."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winnow_engine.core import Cancellation, Kept, ProgressSink
from winnow_engine.errors import CancelledError
from winnow_engine.question import Question
from winnow_lsp.client.asking import Listener
from winnow_lsp.host.reply import Reply
from winnow_lsp.host.waiting import Waiting

if TYPE_CHECKING:
    from winnow_engine.assistant import Assistant

_POLL_S = 0.1


class Resident:
    """The models of a command that answers many questions, one at a time. Any thread may ask."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options, self._thread = options, ThreadPoolExecutor(1, "winnow-engine")
        self._models = ExitStack()
        self._assistant: Assistant | None = None

    def answer(self, folder: Path, question: Question, listener: Listener, cancellation: Cancellation) -> Reply:
        """The answer about a folder. Raises what the engine raises."""
        listener.on_stage("waiting for the models")
        answering = self._thread.submit(self._answer, folder, question, listener, cancellation)
        while not wait([answering], _POLL_S).done:
            if cancellation.cancelled and answering.cancel():
                raise CancelledError("cancelled")
        return answering.result()

    def close(self) -> None:
        """Let go of the models, once what runs has ended."""
        self._thread.submit(self._models.close)
        self._thread.shutdown()

    def _answer(self, folder: Path, question: Question, listener: Listener, cancellation: Cancellation) -> Reply:
        from winnow_lsp.cli.in_process import answer_with

        cancellation.check()
        options = {**self._options, "workspace": (str(folder),)}
        telling, progress = _with_progress(listener)
        return answer_with(self._opened(), question, options, telling, progress, cancellation)

    def _opened(self) -> Assistant:
        from winnow_lsp.cli.session import assistant
        from winnow_lsp.cli.setting_options import config_of

        if self._assistant is None:
            self._assistant = self._models.enter_context(assistant(config_of(self._options), answers=True))
        return self._assistant


def _with_progress(listener: Listener) -> tuple[Listener, ProgressSink]:
    """A listener, and where the engine reports progress, that say it as the server does: in lines."""
    waiting = Waiting()

    def on_kept(kept: Kept) -> None:
        waiting.kept(kept)
        listener.on_kept(kept)

    return replace(listener, on_kept=on_kept), lambda progress: listener.on_stage(waiting.reported(progress))

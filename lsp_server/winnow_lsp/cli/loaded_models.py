"""Models in the command's own process that load for the first of many questions and stay."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winnow_engine.core import Cancellation, Kept, ProgressSink
from winnow_engine.errors import CancelledError
from winnow_engine.question import Question
from winnow_lsp.cli.setting_options import config_of
from winnow_lsp.client.asking import Listener
from winnow_lsp.host.reply import Reply
from winnow_lsp.host.waiting import Waiting

if TYPE_CHECKING:
    from winnow_engine.assistant import Assistant

_POLL_S = 0.1


class LoadedModels:
    """Answers one question at a time. Any thread may ask."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options, self._thread = options, ThreadPoolExecutor(1, "winnow-engine")
        self._open = ExitStack()
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
        """Free the models, once what runs has ended."""
        self._thread.submit(self._open.close)
        self._thread.shutdown()

    def _answer(self, folder: Path, question: Question, listener: Listener, cancellation: Cancellation) -> Reply:
        from winnow_lsp.cli.in_process import answer, assistant

        cancellation.check()
        if self._assistant is None:
            self._assistant = self._open.enter_context(assistant(config_of(self._options), answers=True))
        options = {**self._options, "workspace": (str(folder),)}
        telling, progress = _with_progress(listener)
        return answer(self._assistant, question, options, telling, progress, cancellation)


def _with_progress(listener: Listener) -> tuple[Listener, ProgressSink]:
    """A listener and a progress sink that tell `listener` of progress in lines, as the server does."""
    waiting = Waiting()

    def on_kept(kept: Kept) -> None:
        waiting.kept(kept)
        listener.on_kept(kept)

    return replace(listener, on_kept=on_kept), lambda progress: listener.on_stage(waiting.reported(progress))

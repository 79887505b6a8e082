"""The target that runs in this process, on llama.cpp."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import ParamSpec, TypeVar

from winnow_engine.core import Cancellation, ProgressSink
from winnow_engine.errors import TargetError
from winnow_engine.target.abort import AbortFlag
from winnow_engine.target.base import Generation, Message, Prompt, Sampling, TextSink
from winnow_engine.target.options import TargetOptions
from winnow_engine.target.session import Session

P = ParamSpec("P")
T = TypeVar("T")

_POLL_S = 0.02


class LlamaTarget:
    """A `Target` on a GGUF file. llama.cpp contexts are not thread-safe: one owner thread makes all calls."""

    host: str | None = None

    def __init__(self, owner: ThreadPoolExecutor, session: Session) -> None:
        self._owner = owner
        self._session = session
        self.context_limit = session.context_limit
        self.load_s = session.load_s
        self._release = weakref.finalize(self, _release, owner, session)

    @classmethod
    def open(cls, path: Path, options: TargetOptions | None = None) -> LlamaTarget:
        """Load a GGUF file; `load_s` tells how long it took.

        Raises ModelNotFoundError, ModelDamagedError, or UnsupportedModelError if llama.cpp cannot run it.
        """
        owner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="winnow-target")
        try:
            session = owner.submit(Session, path, options or TargetOptions()).result()
        except BaseException:
            owner.shutdown()
            raise
        return cls(owner, session)

    def count(self, text: str) -> int:
        """How many tokens `text` takes as the content of a message."""
        return self._submit(self._session.count, text).result()

    def chat_prompt(self, messages: Sequence[Message]) -> Prompt:
        """The conversation as the model's own chat template puts it, up to where the answer starts."""
        return self._submit(self._session.chat_prompt, messages).result()

    def generate(
        self,
        prompt: Prompt,
        sampling: Sampling,
        cancellation: Cancellation,
        on_text: TextSink,
        progress: ProgressSink | None = None,
    ) -> Generation:
        """Answer `prompt`, as `Target.generate` says. A start shared with the last request is reused."""
        assert len(prompt) > 0
        abort = AbortFlag()
        started = time.perf_counter()
        answer = self._submit(self._session.generate, prompt, sampling, abort, on_text, progress, started)
        try:
            while not answer.done():
                if cancellation.cancelled:
                    abort.set()
                wait((answer,), timeout=_POLL_S)
        except BaseException:
            # Ctrl-C in this thread: end the answer, because the process joins the owner when it exits.
            abort.set()
            wait((answer,))
            raise
        return answer.result()

    def close(self) -> None:
        """Free the model, after a running request. Also happens when the target is collected and at exit."""
        self._release()

    def _submit(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        if not self._release.alive:
            raise TargetError("the target is closed: open it again")
        return self._owner.submit(call, *args, **kwargs)


def _release(owner: ThreadPoolExecutor, session: Session) -> None:
    owner.shutdown()
    session.close()

"""The target that runs in this process, on llama.cpp."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import ParamSpec, TypeVar

from winnow_engine.config import Place, TargetOptions
from winnow_engine.core import Cancellation, Sampling, Thinking
from winnow_engine.errors import TargetError
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.context import evaluates_on_gpu
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import NO_TOOLS, Tools
from winnow_engine.targets.base import Generation, Request
from winnow_engine.targets.local.chat_template import LocalPrompt
from winnow_engine.targets.local.session import Session

P = ParamSpec("P")
T = TypeVar("T")

_POLL_S = 0.02  # between two looks at the request's cancellation


class LlamaTarget:
    """A `Target` that runs a GGUF file. llama.cpp contexts are not thread-safe: one owner thread makes all calls."""

    host: str | None = None

    def __init__(self, owner: ThreadPoolExecutor, session: Session, *, on_gpu: bool) -> None:
        self._owner = owner
        self._session = session
        self.place: Place = "resident" if on_gpu else "cpu"
        self.context_limit, self.parameters = session.context_limit, session.parameters
        self._release = weakref.finalize(self, _release, owner, session)

    @classmethod
    def open(cls, path: Path, options: TargetOptions | None = None) -> LlamaTarget:
        """Load a GGUF file. ModelNotFoundError, ModelDamagedError, or UnsupportedModelError."""
        options = options or TargetOptions()
        owner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="winnow-target")
        try:
            session = owner.submit(Session, path, options).result()
        except BaseException:
            owner.shutdown()
            raise
        return cls(owner, session, on_gpu=evaluates_on_gpu(options))

    @property
    def prefill_tokens_per_s(self) -> float | None:
        """As measured, on a CPU also by an earlier process or else guessed; None for a GPU that read nothing."""
        token_s = self._token_s
        return None if token_s is None else 1 / token_s

    @property
    def _token_s(self) -> float | None:
        throughput = self._session.throughput
        return throughput.measured_s if self.place == "resident" else throughput.token_s or throughput.assumed_s

    def count(self, text: str) -> int:
        """The number of tokens that `text` takes as the content of a message."""
        return self._submit(self._session.count, text).result()

    def chat_prompt(
        self, messages: Sequence[Message], tools: Tools = NO_TOOLS, thinking: Thinking = "auto"
    ) -> LocalPrompt:
        """The conversation in the model's own chat template, up to where the answer starts or goes on."""
        return self._submit(self._session.chat_prompt, messages, tools, thinking).result()

    def thinking_tokens(self, sampling: Sampling) -> int:
        """How many tokens a thought may take beside the answer; 0 if the model's chat template knows no thoughts."""
        return self._submit(self._session.thinking_tokens, sampling).result()

    def seconds_to_read(self, prompt: LocalPrompt) -> float | None:
        """How long the prompt takes that is not in memory yet, at `prefill_tokens_per_s`."""
        token_s = self._token_s
        if token_s is None:
            return None
        return self._submit(self._session.seconds_to_read, prompt.tokens, token_s).result()

    def unread(self, prompt: LocalPrompt) -> int:
        """How many of the prompt's tokens are neither in memory nor on disk; at least one."""
        return self._submit(self._session.unread, prompt.tokens).result()

    def generate(self, request: Request[LocalPrompt]) -> Generation:
        """Answer a request, as `Target.generate` says. A start that its prompt shares with the last one is reused."""
        assert len(request.prompt) > 0
        abort = AbortFlag()
        started = time.perf_counter()
        return _result(self._submit(self._session.generate, request, abort, started), abort, request.cancellation)

    def close(self) -> None:
        """Free the model, after a running request. Also happens when the target is garbage-collected, and at exit."""
        self._release()

    def _submit(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        if not self._release.alive:
            raise TargetError("the target is closed: open it again")
        return self._owner.submit(call, *args, **kwargs)


def _result(work: Future[T], abort: AbortFlag, cancellation: Cancellation) -> T:
    """What the owner's work gives, which `abort` ends as soon as the request is cancelled."""
    try:
        while not work.done():
            if cancellation.cancelled:
                abort.set()
            wait((work,), timeout=_POLL_S)
    except BaseException:
        # Ctrl-C in this thread: end the work, because the process joins the owner when it exits.
        abort.set()
        wait((work,))
        raise
    return work.result()


def _release(owner: ThreadPoolExecutor, session: Session) -> None:
    owner.shutdown()
    session.close()

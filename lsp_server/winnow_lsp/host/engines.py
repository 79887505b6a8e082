"""The models in this process, each pair loaded once however many clients use it."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Thread
from typing import Any, TypeVar

from winnow_engine.assistant import Assistant, open_assistant
from winnow_engine.config import AUTO, Config, ModelConfig
from winnow_engine.core import Cancellation
from winnow_engine.errors import ModelError, WinnowError
from winnow_engine.index.workspace import Sources, Workspace
from winnow_engine.models.cache import locate
from winnow_engine.runtime import Loading
from winnow_engine.sharing.index import attach
from winnow_engine.storage.store import Store
from winnow_engine.targets.remote.address import is_url, sent_to
from winnow_engine.targets.suggesting import resolved
from winnow_lsp.host.queue import ANYBODY, Asker, Moved, Queue, Work

_POLL_S = 0.05
_AT_ONCE = 32  # questions to a target on a server; it schedules them itself, and waits for none of ours
_log = logging.getLogger(__name__)

T = TypeVar("T")
Changed = Callable[[], None]


@dataclass(frozen=True, slots=True)
class ModelState:
    """State of a model. `kind` is the class of `error`; `host` is where prompts go that leave this machine."""

    name: str
    state: str
    error: str | None = None
    kind: str | None = None
    host: str | None = None


class Engine:
    """One pair of models with its queue. Its methods belong to the event loop.

    A target in this process takes one question at a time, and the next one that needs it waits for it. A target on a
    server gets several at once, for which code is chosen at the same time, too.
    """

    def __init__(
        self, models: ModelConfig, store: Store, *, load_target: bool = True, replaced: Sequence[Engine] = ()
    ) -> None:
        """Load the drafter, and the target once the engines that are `replaced` are freed or in use again."""
        self.models, self.files, self._store = models, _by_files(models), store
        self.leaving = False
        self._replaced = [one for one in replaced if not (is_url(one.models.target) or is_url(models.target))]
        self._closing = Cancellation()
        self.queue = Queue(self._tell, _AT_ONCE if is_url(models.target) else 1)
        self._loop = asyncio.get_running_loop()
        self.watchers: list[Changed] = []
        """Called, each for one client, when a model's state or the number of questions has changed."""
        self._assistant = open_assistant(
            models, store, load_target=load_target, remember=models.keeps_prompts, before_target=self._before_target
        )
        self._listen()

    def load_target(self) -> None:
        """Load the target ahead of the first question, unless that has begun."""
        assert self._assistant.target is not None
        self._assistant.target.begin()

    def assistant(self) -> Assistant:
        """The assistant, with models opened again that failed: they may have been pulled in the meantime."""
        if any(loading.error for loading in self._loadings()):
            self._assistant.retry()
            self._listen()
        return self._assistant

    def latest(self, sources: Sources) -> Workspace | None:
        """As `Assistant.latest`; no models are opened for it."""
        return self._assistant.latest(sources)

    async def question(
        self,
        work: Callable[[Assistant, Cancellation], T],
        asker: Asker = ANYBODY,
        moved: Moved = lambda _: None,
        *,
        needs_target: bool = True,
    ) -> T:
        """Run work that needs nothing but the assistant when its turn has come, as `Queue.question`."""

        def prepare() -> Work[T]:
            assistant = self.assistant()
            return lambda cancellation: work(assistant, cancellation)

        return await self.queue.question(prepare, moved, asker, needs_target=needs_target)

    @property
    def drafter(self) -> ModelState:
        """The drafter's state."""
        return _state(self.models.drafter, self._assistant.keys)

    @property
    def target(self) -> ModelState:
        """The target's state."""
        assert self._assistant.target is not None
        return replace(_state(self.models.target, self._assistant.target), host=sent_to(self.models.target))

    @property
    def context_limit(self) -> int | None:
        """The target's context in tokens; None as long as it is not loaded."""
        assert self._assistant.target is not None
        target = self._assistant.target.loaded
        return target.context_limit if target else None

    def close(self) -> None:
        """Free the models, or never load them; waits for what still runs, so not on the event loop."""
        self._closing.cancel()
        self.queue.close()
        try:
            self._assistant.close()
            del self._assistant
        finally:
            self.leaving = False
        try:
            self._store.trim(self._store.max_bytes)
        except WinnowError as error:  # the cache is too large now, but whole
            _log.warning("%s", error)
        _give_memory_back()

    def _before_target(self) -> None:
        """Wait for the memory of what this engine replaces. CancelledError once nobody wants this one either."""
        # In this order: this one is replaced before one of those is wanted again.
        while any(engine.leaving for engine in self._replaced) or (self.leaving and not self.queue.busy):
            self._closing.check()
            time.sleep(_POLL_S)
        self._closing.check()
        with suppress(WinnowError):  # as whoever opens the target says
            self.models = resolved(self.models)  # one may have been installed
        self.files = _by_files(self.models)

    def _loadings(self) -> tuple[Loading[Any], ...]:
        assert self._assistant.target is not None
        return self._assistant.keys, self._assistant.target

    def _listen(self) -> None:
        for loading in self._loadings():
            loading.when_over(self._loaded)

    def _loaded(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        for changed in self.watchers:
            changed()


def _by_files(models: ModelConfig) -> ModelConfig:
    """As `ModelConfig.loaded`, with one path for each model that has a file here, however it is named."""
    files: dict[str, Any] = {}
    for role in ("drafter", "target", "speculate"):
        with suppress(ModelError, OSError):
            files[role] = str(locate(getattr(models, role)).resolve())
    return replace(models.loaded, **files)


def _state(name: str, loading: Loading[Any]) -> ModelState:
    if not loading.over:
        return ModelState(name, "loading")
    error = loading.error
    return ModelState(name, "failed", str(error), type(error).__name__) if error else ModelState(name, "ready")


def _give_memory_back() -> None:
    """Return freed memory to the system: of 530 MB with SmolLM2 as both models, glibc left 290 resident, now 170."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


class Engines:
    """Engines by models, while a client uses them. With `keep_last` the last one stays until another is wanted."""

    def __init__(self, store: Store, *, keep_last: bool = False) -> None:
        self._store, self._keep_last = store, keep_last
        self._used = Counter[Engine]()
        self._chosen: dict[ModelConfig, str] = {}
        self._kept: Engine | None = None
        self._leaving: list[Engine] = []

    def use(self, config: Config, client: Hashable) -> None:
        """Use a client's shared indexes, and its bound for the index, for all clients until it leaves."""
        attach(self._store, config.shared_indexes, client)
        self._store.max_bytes = config.models.index_bytes

    def leave(self, client: Hashable) -> None:
        """Use the indexes of a client's settings no longer, unless others have them, too."""
        self._store.detach(client)

    async def named(self, models: ModelConfig) -> ModelConfig:
        """The models with a name for a target `auto`, which is found in a thread and kept while it is in memory."""
        known = replace(models, target=self._chosen.get(models.loaded, models.target))
        if models.target == AUTO and not self._with(known):
            with suppress(WinnowError, OSError):  # the engine says why there is none, and looks again
                known = models
                known = await asyncio.to_thread(resolved, models)
            self._chosen[models.loaded] = known.target
        return known

    def acquire(self, models: ModelConfig, *, load_target: bool = True) -> Engine:
        """The engine for these models, released as often as acquired. Its target may wait for the first question."""
        engine = self._with(models) or self._open(models)
        if engine is self._kept:
            self._kept = None
        if load_target:
            engine.load_target()
        engine.leaving = False
        self._used[engine] += 1
        return engine

    def replace(self, engine: Engine) -> None:
        """Have targets that are acquired from now on wait for this engine's memory, unless others use it, too."""
        if self._used[engine] == 1:
            self._leaves(engine)

    async def release(self, engine: Engine) -> None:
        """Give an engine back; the last one to do so frees its memory, unless that engine is kept."""
        self._used[engine] -= 1
        if self._used[engine]:
            return
        del self._used[engine]
        unused: Engine | None = engine
        if self._keep_last and not engine.leaving:
            unused, self._kept = self._kept, engine
        if unused is not None:
            self._leaves(unused)
            await asyncio.shield(asyncio.to_thread(unused.close))  # others wait for its memory

    async def close(self) -> None:
        """Free the engine that is kept."""
        kept, self._kept = self._kept, None
        if kept is not None:
            await asyncio.to_thread(kept.close)

    @property
    def loaded(self) -> tuple[Engine, ...]:
        """The engines in memory."""
        return (*self._used, *([self._kept] if self._kept else []))

    def _with(self, models: ModelConfig) -> Engine | None:
        known, files = models.loaded, _by_files(models)
        return next((one for one in self.loaded if one.models.loaded == known or one.files == files), None)

    def _open(self, models: ModelConfig) -> Engine:
        """A new engine; the one that is kept is freed."""
        kept, self._kept = self._kept, None
        if kept is not None:
            self._leaves(kept)
            Thread(target=kept.close).start()
        return Engine(models, self._store, load_target=False, replaced=tuple(self._leaving))

    def _leaves(self, engine: Engine) -> None:
        engine.leaving = True
        self._leaving = [*(one for one in self._leaving if one.leaving and one is not engine), engine]

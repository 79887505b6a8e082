"""What passes over several tokens cost with a target on this machine: measured behind its first answer, kept on disk.

A draft that knows it from the first answer on neither tries what does not pay nor leaves out what does.
"""

from __future__ import annotations

import hashlib
import logging
import math
import time
from itertools import product
from pathlib import Path

import llama_cpp
import numpy as np

from winnow_engine.config import TargetOptions
from winnow_engine.errors import TargetError
from winnow_engine.llama.build_note import build_note
from winnow_engine.llama.kv_cache import KvCache
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.tree import NOTHING, chain
from winnow_engine.storage.folders import cache_folder
from winnow_engine.storage.mapped import open_arrays, write_arrays
from winnow_engine.targets.drafts.base import Draft
from winnow_engine.targets.drafts.control.adaptive import AdaptiveDraft
from winnow_engine.targets.snapshots.files import made_by

_SIZES = (8, 2, 16, 4)  # tokens of a pass, the most telling first
_TURNS = 2
# A GPU, whose passes take milliseconds, captures a graph of each size in its second turn and replays it from then on.
_MOST_TURNS, _SHORT_S = 6, 0.2
_LONGEST_S = 1.5  # after which a slow target measures no further size
_log = logging.getLogger(__name__)


class PassCosts:
    """Teaches a draft the costs of one model, with one build of llama.cpp and one number of threads."""

    def __init__(self, path: Path, options: TargetOptions, model: LlamaModel, draft: Draft) -> None:
        """Read what is on disk for the model at `path`. Drafts that do not adapt, and models with states, need none."""
        self._draft: AdaptiveDraft | None = None
        if not isinstance(draft, AdaptiveDraft) or model.keeps_states:
            return
        self._draft = draft
        how = [made_by(path, options.kv_type, llama_cpp.__version__), options.threads, options.gpu_layers]
        build = llama_cpp.llama_print_system_info().decode(errors="replace")
        digest = hashlib.sha256(repr([*how, build, *build_note()]).encode()).hexdigest()[:16]
        self._file = cache_folder() / "passes" / f"{digest}.arrays"
        self._known = self._recalled(draft)

    def _recalled(self, draft: AdaptiveDraft) -> bool:
        """Teach what is on disk, if that is sound."""
        found = open_arrays(self._file)
        costs = None if found is None else found[0].get("costs")
        if costs is None or costs.dtype != np.float32 or costs.ndim != 2 or costs.shape[1] != 2:
            return False
        pairs = {int(drafted): float(cost) for drafted, cost in costs if drafted >= 1 and 1 <= cost < math.inf}
        draft.know(pairs)
        return bool(pairs)

    def measure(self, cache: KvCache) -> None:
        """Time passes behind what `cache` holds, unless their costs are known; afterwards it holds the same."""
        if self._draft is None or self._known:
            return
        try:
            costs = measured(cache)
        except TargetError as error:  # the answer is there: it must not be lost
            _log.warning("what passes cost is not known: %s", error)
            return
        if not costs:
            return
        self._known = True
        self._draft.know(costs)
        try:
            write_arrays(self._file, {"costs": [np.array(list(costs.items()), np.float32)]})
        except OSError as error:
            _log.warning("cannot keep what passes cost in %s: %s", self._file.parent, error)


def measured(cache: KvCache) -> dict[int, float]:
    """Plain steps that a pass costs by the number of drafted tokens; sizes without room, or too slow, are missing.

    Each is timed with a plain step behind it, which takes longer where the size before was another (a GPU's graphs).
    Empty if aborted.
    """
    room = cache.context.n_ctx - len(cache.tokens) if len(cache.tokens) else 0
    sizes = [size for size in _SIZES if size - 1 <= cache.context.branches and size + 1 < room]
    least = dict.fromkeys((1, *sizes), math.inf)
    started = time.perf_counter()
    for turn, size in product(range(_MOST_TURNS), (1, *sizes)):
        if time.perf_counter() - started > (_LONGEST_S if turn < _TURNS else _SHORT_S):
            break
        with cache.context.choosing():
            seconds = _with_plain_step(cache, size) if sizes else None
        if seconds is None:
            return {}
        least[size] = min(least[size], seconds)
    plain_s = least.pop(1) / 2
    return {size - 1: max(1.0, seconds / plain_s - 1) for size, seconds in least.items() if seconds < math.inf}


def _with_plain_step(cache: KvCache, size: int) -> float | None:
    """Seconds of a pass over `size` tokens and a plain step; None if aborted."""
    length, token = len(cache.tokens), int(cache.tokens[-1])
    tree = chain(np.resize(cache.tokens, size - 1).tolist(), [1.0] * (size - 1)) if size > 1 else NOTHING
    started = time.perf_counter()
    if not cache.verify(token, tree):
        return None
    cache.keep(tree, [])
    done = cache.verify(token, NOTHING)
    if done:
        cache.context.likeliest()  # a GPU has evaluated it only then
    seconds = time.perf_counter() - started
    cache.rewind(length)
    return seconds if done else None

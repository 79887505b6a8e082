"""Opens the reranker of a drafter's profile, if the drafter runs on a GPU."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.profiles import RerankerUse
from winnow_engine.encoder.weights import EMBEDDING
from winnow_engine.errors import ModelError, ProfileError
from winnow_engine.models import cache
from winnow_engine.models.gguf_header import read_header
from winnow_engine.reranker.background import NOT_RERANKED, BackgroundReranker
from winnow_engine.reranker.file import read_reranker
from winnow_engine.reranker.reranker import Reranker, load_reranker

OpenReranker = Callable[[Drafter], BackgroundReranker | None]
"""Opens the reranker that goes with a drafter, or None if there is none."""


def open_reranker(
    drafter: Drafter, seconds: float = math.inf, on_compile: Callable[[str], None] = lambda kernel: None
) -> BackgroundReranker | None:
    """The reranker of the drafter's profile, not loaded yet. It takes about `seconds` for a question at most.

    None without one, and on the CPU, where it would read for a minute. None also if its file or the model whose layers
    it has is missing, damaged or another's, which the drafter's notice then says.
    """
    use = drafter.reranker
    if use is None or drafter.place != "resident":
        return None
    try:
        load = _loader(drafter, use, on_compile)
    except (ModelError, ProfileError) as error:
        drafter.add_notice(f"{NOT_RERANKED}: {error}")
        return None
    return BackgroundReranker(use, load, drafter.add_notice, seconds)


def _loader(drafter: Drafter, use: RerankerUse, on_compile: Callable[[str], None]) -> Callable[[], Reranker]:
    """Loads the reranker once it is called; its file and its model are checked now. ModelError or ProfileError."""
    model = drafter.path if use.model is None else cache.path(use.model)
    header = read_header(model)
    embedding = header.tensors.get(EMBEDDING)
    if embedding is None or embedding.shape[:1] != read_header(drafter.path).tensors[EMBEDDING].shape[:1]:
        raise ProfileError(f"{model}, whose layers the reranker has, has another vocabulary than the drafter")
    file = read_reranker(use.file, header)
    return partial(load_reranker, model, file, drafter.template.prefix, on_compile)

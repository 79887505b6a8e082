"""Weights installed as distributions of their own (`winnow-weights-…`), which share the namespace `winnow_weights`."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

Kind = Literal["adapter", "reranker", "draft"]


@cache
def weight_folders(kind: Kind) -> tuple[Path, ...]:
    """The installed folders of a kind, one a model. Of two with one name, the first on the module path counts."""
    spec = find_spec("winnow_weights")
    found: dict[str, Path] = {}
    for root in (spec.submodule_search_locations or ()) if spec else ():
        for folder in sorted(Path(root, kind).glob("*/")):
            found.setdefault(folder.name, folder)
    return tuple(found.values())


def weights_remedy(kind: Kind) -> str:
    """Names the distribution that brings the weights of a kind."""
    return f"`pip install winnow-weights-{kind}` brings it"

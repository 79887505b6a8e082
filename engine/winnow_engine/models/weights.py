"""Weights installed as distributions of their own (`winnow-weights-…`), which share the namespace `winnow_weights`."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

Kind = Literal["adapter", "reranker", "draft"]
_DOCUMENTS: dict[Kind, str] = {"adapter": "profile.json", "reranker": "reranker.json", "draft": "draft.json"}


@cache
def weight_folders(kind: Kind) -> tuple[Path, ...]:
    """The installed folders with a kind's document, one a model. Of two with one name, the first on the path counts."""
    spec = find_spec("winnow_weights")
    found: dict[str, Path] = {}
    for root in (spec.submodule_search_locations or ()) if spec else ():
        for document in sorted(Path(root, kind).glob(f"*/{_DOCUMENTS[kind]}")):
            found.setdefault(document.parent.name, document.parent)
    return tuple(found.values())


def weights_remedy(kind: Kind) -> str:
    """Names the distribution that brings the weights of a kind."""
    return f"`pip install winnow-weights-{kind}` brings it"

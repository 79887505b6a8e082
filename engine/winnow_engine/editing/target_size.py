"""The size that a target needs to write changes of the code."""

from __future__ import annotations

from math import prod

from winnow_engine.errors import ModelError, NotApplicableError
from winnow_engine.models.cache import locate
from winnow_engine.models.gguf_header import read_header
from winnow_engine.models.registry import MODELS
from winnow_engine.targets.remote.address import is_url

LEAST_PARAMETERS = 3_000_000_000


def check_size(target: str) -> None:
    """Raise NotApplicableError for a local target with fewer than LEAST_PARAMETERS parameters.

    `target` is a model's name, a file or a URL. A file that cannot be read passes: loading it gives the better error.
    """
    parameters = None if is_url(target) else _parameters(target)
    if parameters is not None and parameters < LEAST_PARAMETERS:
        raise NotApplicableError(
            f"{target} has {parameters / 1e9:.1f} billion parameters, and a target needs {LEAST_PARAMETERS / 1e9:.0f} "
            "billion to change code: set winnow.target to a larger model, or to the URL of a server"
        )


def _parameters(target: str) -> int | None:
    """The number of weights of a model; None if its file cannot be read, or is one of several."""
    registered = {model.name: model.parameters for model in MODELS}
    if target in registered:
        return registered[target]
    try:
        header = read_header(locate(target))
    except ModelError:
        return None
    if header.values.get("split.count", 1) not in (0, 1):
        return None
    return sum(prod(tensor.shape) for tensor in header.tensors.values())

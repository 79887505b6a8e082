"""From what `--target` names to a target: a model's name, a GGUF file, or a server's URL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from winnow_engine.config import TargetOptions, Wanted
from winnow_engine.models.cache import locate
from winnow_engine.targets.base import Target
from winnow_engine.targets.local.target import LlamaTarget
from winnow_engine.targets.remote.address import is_url, parse
from winnow_engine.targets.remote.target import HttpTarget
from winnow_engine.targets.residency import decide, measure


def opener(name: str, options: TargetOptions | None = None, context_limit: int | None = None) -> Callable[[], Target]:
    """What opens the target called `name`; `context_limit` is for servers, in place of what they say.

    What can be told without loading is raised here: ModelNotFoundError, ModelDamagedError, TargetAddressError. What
    opening raises: `LlamaTarget.open` and `HttpTarget.open`.
    """
    if is_url(name):
        address = parse(name)
        return lambda: HttpTarget.open(address, context_limit)
    file = locate(name)
    return lambda: LlamaTarget.open(file, options)


def placed(options: TargetOptions, wanted: Wanted, name: str, drafter: Path) -> TargetOptions:
    """The options of a local target where it is `wanted`, or for `auto` where it fits beside the drafter.

    Raises what `residency.measure` does. A target on a server is placed there already.
    """
    if is_url(name):
        return options
    place = decide(measure(drafter, locate(name), options)).target if wanted == "auto" else wanted
    return replace(options, place=place)

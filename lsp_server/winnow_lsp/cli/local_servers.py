"""Model servers found on this machine, and the offer of one, or of a download, where no target is installed."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from winnow_engine.config import AUTO
from winnow_engine.errors import ModelNotFoundError, WinnowError
from winnow_engine.models.cache import installed, locate
from winnow_engine.targets.remote.address import KEY_VARIABLE
from winnow_lsp.cli.setting_options import config_of
from winnow_lsp.cli.terminal import is_interactive

if TYPE_CHECKING:
    from winnow_engine.targets.remote.discovery import FoundModel

_MOST_NAMED = 5


def command(found: FoundModel) -> str:
    """The command that uses a model that was found."""
    return f"winnow ask --target {shlex.quote(found.url)}"


def described(found: FoundModel) -> str:
    """The model, its server and its context, in words."""
    context = f", context {found.context:,} tokens" if found.context else ""
    return f"{found.model} on {found.server}{context}"


def with_target(options: dict[str, Any]) -> dict[str, Any]:
    """The options, with a target if none is installed and the user agrees. Raises ModelNotFoundError."""
    models = config_of(options).models
    if models.target != AUTO or not (missing := _error(lambda: next(installed(models.drafter)))):
        return options
    from winnow_engine.targets.remote.discovery import discover

    asks = is_interactive() and not options["as_json"]
    if not (found := discover()):
        return _with_suggestion(options, missing) if asks else options
    no_drafter = _error(partial(locate, models.drafter))
    if no_drafter or not asks:
        raise ModelNotFoundError("\n".join((str(no_drafter or missing), *_offer(found))))
    click.echo("\n".join((f"winnow: {missing}", *_offer(found))), err=True)
    sent = f"The code that is kept for it and {KEY_VARIABLE} are" if KEY_VARIABLE in os.environ else "The kept code is"
    question = f"Use {described(found[0])} for this question? {sent} sent there."
    if not click.confirm(question, default=False, err=True):
        raise ModelNotFoundError(str(missing))
    return options | {"settings": options["settings"] | {"target": found[0].url}}


def _with_suggestion(options: dict[str, Any], missing: ModelNotFoundError) -> dict[str, Any]:
    """The options with the target that suits this machine, pulled with a missing drafter if the user agrees."""
    from winnow_lsp.cli.pulling import pull_one, suggested

    click.echo(f"winnow: {missing}", err=True)
    _, chosen = suggested()
    if chosen is None:
        return options
    target, drafter = chosen.model, config_of(options).models.drafter
    licence = f"{target.bytes / 1e9:.1f} GB, licence {target.licence}"
    act = f"Use {target.name}" if chosen.here else f"Pull {target.name} ({licence}) and use it"
    if not click.confirm(f"{act}, which suits this machine?", default=False, err=True):
        raise ModelNotFoundError(str(missing))
    for name in (drafter, target.name):
        if _error(partial(locate, name)):
            pull_one(name)
    return options | {"settings": options["settings"] | {"target": target.name}}


def _error(find: Callable[[], object]) -> ModelNotFoundError | None:
    """The error if a model is not here. Other errors are left to those who load it."""
    try:
        find()
    except ModelNotFoundError as error:
        return error
    except WinnowError:
        return None
    return None


def _offer(found: Sequence[FoundModel]) -> list[str]:
    lines = [f"  {described(one)}: {command(one)}" for one in found[:_MOST_NAMED]]
    more = len(found) - _MOST_NAMED
    rest = [f"  and {more} more: winnow doctor lists them"] if more > 0 else []
    return ["found on this machine, and may answer instead of a target of Winnow's own:", *lines, *rest]

"""Drafts guess how an answer goes on; the target verifies many guesses in one pass. One draft method, one module.

CONTRIBUTING.md says how to add one. Build on `shared/`: `hidden_states` if it reads the target's hidden states. Raise
DraftError, naming `file.name` and what to do, where draft and target do not fit.
"""

from __future__ import annotations

import importlib
import logging
import pkgutil
from functools import cache
from pathlib import Path

from winnow_engine.config import TargetOptions
from winnow_engine.errors import DraftError, ModelError, UnsupportedModelError
from winnow_engine.llama.context import evaluates_on_gpu
from winnow_engine.llama.layer_inputs import given_by
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.patched_functions import has_patches
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.targets.drafts.base import (
    METHOD_KEY,
    ChainDraft,
    Draft,
    DraftFile,
    FileMethod,
    NoDraft,
    check_vocabulary,
)
from winnow_engine.targets.drafts.gated_draft import GatedDraft, usual_costs
from winnow_engine.targets.drafts.lookup import LookupDraft
from winnow_engine.targets.drafts.shipped import discard, draft_of

_log = logging.getLogger(__name__)


def open_draft(options: TargetOptions, target: LlamaModel) -> Draft:
    """The draft that `options.speculate` chooses, `auto` and files gated by what pays. ModelError, DraftError."""
    if _method_name(target) in file_methods():
        raise UnsupportedModelError(
            f"a model of the architecture {_method_name(target)!r} answers nothing by itself: "
            "name it as the setting speculate, with the target it was made for"
        )
    chosen = options.speculate
    if chosen == "off" or not target.rolls_back:
        return NoDraft()
    if isinstance(chosen, Path):
        draft = _fitted(_from_file(chosen, options, target), target)
        return GatedDraft(NoDraft(), draft, usual_costs(options), chosen=True)
    draft = _fitted(LookupDraft(), target)
    return GatedDraft(draft, _shipped(options, target), usual_costs(options)) if chosen == "auto" else draft


def draft_name(options: TargetOptions, target: LlamaModel) -> str:
    """The name of the draft that `open_draft` opens, or the reason why it opens none."""
    chosen = options.speculate
    if chosen != "off" and not target.rolls_back:
        return "off: the target's recurrent memory cannot roll back"
    return chosen if isinstance(chosen, str) else chosen.name


@cache
def file_methods() -> dict[str, FileMethod]:
    """The draft methods of this package that read a file, by what stands for their architecture."""
    modules = [importlib.import_module(found.name) for found in pkgutil.iter_modules(__path__, f"{__name__}.")]
    methods: list[FileMethod] = [module.METHOD for module in modules if hasattr(module, "METHOD")]
    return {method.architecture: method for method in methods}


def _shipped(options: TargetOptions, target: LlamaModel) -> Draft | None:
    """The draft of a target, only where llama.cpp is built so that it pays: docs/lab/drafts.md."""
    pays = target.architecture in given_by() if evaluates_on_gpu(options) else has_patches()
    path = draft_of(target.path) if pays else None
    if path is None:
        return None
    try:
        return _fitted(_from_file(path, options, target), target)
    except ModelError as error:  # nobody named it
        _log.warning("the target's draft is not used: %s", error)
        discard(path)
        return None


def _fitted(draft: Draft, target: LlamaModel) -> Draft:
    return ChainDraft(draft) if target.keeps_states else draft


def _from_file(path: Path, options: TargetOptions, target: LlamaModel) -> Draft:
    model = LlamaModel(path, n_gpu_layers=options.gpu_layers)
    try:
        method = file_methods().get(_method_name(model))
        if method is None:
            raise DraftError(f"{path.name} is no draft: `winnow train draft` makes them")
        if not method.own_vocabulary:
            check_vocabulary(Vocabulary(model), Vocabulary(target), path.name)
        return method.open(DraftFile(path, model, target, options))
    except ModelError:
        model.close()
        raise


def _method_name(model: LlamaModel) -> str:
    return model.metadata(METHOD_KEY) or model.architecture

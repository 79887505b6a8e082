"""Drafts guess how an answer goes on; the target verifies many guesses in one pass."""

from __future__ import annotations

import logging
from pathlib import Path

from winnow_engine.config import TargetOptions
from winnow_engine.errors import ModelError, UnsupportedModelError
from winnow_engine.llama.context import evaluates_on_gpu
from winnow_engine.llama.layer_inputs import given_by
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.patched_functions import has_patches
from winnow_engine.targets.drafts.base import ChainDraft, Draft, NoDraft
from winnow_engine.targets.drafts.block import open_block
from winnow_engine.targets.drafts.block_file import is_draft
from winnow_engine.targets.drafts.gated_draft import GatedDraft, usual_costs
from winnow_engine.targets.drafts.lookup import LookupDraft
from winnow_engine.targets.drafts.shipped import discard, draft_of

_log = logging.getLogger(__name__)


def open_draft(options: TargetOptions, target: LlamaModel) -> Draft:
    """The draft that `options.speculate` chooses, `auto` and files gated by what pays. ModelError, DraftError."""
    if is_draft(target):
        raise UnsupportedModelError(
            "a draft answers nothing by itself: name it as the setting speculate, with the target it was made for"
        )
    chosen = options.speculate
    if chosen == "off" or not target.rolls_back:
        return NoDraft()
    if isinstance(chosen, Path):
        draft = _fitted(open_block(chosen, target, options), target)
        return GatedDraft(NoDraft(), draft, usual_costs(options), chosen=True)
    draft = _fitted(LookupDraft(), target)
    return GatedDraft(draft, _shipped(options, target), usual_costs(options)) if chosen == "auto" else draft


def draft_name(options: TargetOptions, target: LlamaModel) -> str:
    """The name of the draft that `open_draft` opens, or the reason why it opens none."""
    chosen = options.speculate
    if chosen != "off" and not target.rolls_back:
        return "off: the target's recurrent memory cannot roll back"
    return chosen if isinstance(chosen, str) else chosen.name


def _shipped(options: TargetOptions, target: LlamaModel) -> Draft | None:
    """The draft of a target, only where llama.cpp is built so that it pays: docs/lab/drafts.md."""
    pays = target.architecture in given_by() if evaluates_on_gpu(options) else has_patches()
    path = draft_of(target.path) if pays else None
    if path is None:
        return None
    try:
        return _fitted(open_block(path, target, options), target)
    except ModelError as error:  # nobody named it
        _log.warning("the target's draft is not used: %s", error)
        discard(path)
        return None


def _fitted(draft: Draft, target: LlamaModel) -> Draft:
    return ChainDraft(draft) if target.keeps_states else draft

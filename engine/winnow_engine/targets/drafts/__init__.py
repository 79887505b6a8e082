"""Drafts: guesses of how an answer goes on, which the target verifies many at a time. One kind a file.

`base` says what a draft offers; `lookup`, `model`, `dflash` and `eagle3` guess, `auto` decides with `pace` how much of
it pays, `trunk` cuts off branches. `reading`, `reader` and `rows` are for drafts that read the target's layers.
"""

from __future__ import annotations

from winnow_engine.config import TargetOptions
from winnow_engine.errors import ModelError, UnsupportedModelError
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.targets.drafts import dflash, eagle3
from winnow_engine.targets.drafts.auto import AutoDraft
from winnow_engine.targets.drafts.base import Draft, NoDraft
from winnow_engine.targets.drafts.lookup import LookupDraft
from winnow_engine.targets.drafts.model import ModelDraft, check_vocabulary
from winnow_engine.targets.drafts.trunk import TrunkDraft


def open_draft(options: TargetOptions, target: LlamaModel) -> Draft:
    """The draft that `options.draft` names, for `target`.

    Raises ModelNotFoundError, ModelDamagedError, UnsupportedModelError, which a `target` that is a draft itself gets
    too, or DraftError for a draft that does not fit.
    """
    if target.architecture in (dflash.ARCHITECTURE, eagle3.ARCHITECTURE):
        raise UnsupportedModelError(
            f"a model of the architecture {target.architecture!r} answers nothing by itself: "
            "give it as --draft of the target it was made for"
        )
    if options.draft == "off" or not target.rolls_back:
        return NoDraft()
    draft = LookupDraft() if isinstance(options.draft, str) else _model_draft(options, target)
    if target.keeps_states:
        draft = TrunkDraft(draft)
    if options.draft == "lookup":
        return draft
    return AutoDraft(draft, free=options.draft == "auto")


def _model_draft(options: TargetOptions, target: LlamaModel) -> Draft:
    assert not isinstance(options.draft, str)
    path = options.draft
    model = LlamaModel(path, n_gpu_layers=options.gpu_layers)
    try:
        check_vocabulary(Vocabulary(model), Vocabulary(target), path.name)
        if model.architecture == dflash.ARCHITECTURE:
            return dflash.open_dflash(model, target, path, options)
        if model.architecture == eagle3.ARCHITECTURE:
            return eagle3.open_eagle3(model, target, path, options)
    except ModelError:
        model.close()
        raise
    return ModelDraft(model, options)

"""Whether a draft model has the target's tokens."""

from __future__ import annotations

from winnow_engine.errors import DraftError
from winnow_engine.llama.vocabulary import Vocabulary

_PADDING = 128  # tokens: vocabularies of one family are padded to different sizes


def check_vocabulary(draft: Vocabulary, target: Vocabulary, name: str) -> None:
    """Raise DraftError unless the model called `name` has the target's tokens. Sizes may differ by padding."""
    shared = min(draft.size, target.size)
    other = next((token for token in range(shared) if draft.spelling(token) != target.spelling(token)), None)
    if other is None and abs(draft.size - target.size) <= _PADDING:
        return
    what = (
        "sizes differ"
        if other is None
        else f"token {other} is {draft.spelling(other)!r}, not {target.spelling(other)!r}"
    )
    raise DraftError(
        f"{name} cannot draft for this target: their vocabularies differ ({what}). A smaller model of the target's own "
        "family fits, such as qwen2.5-coder-0.5b for qwen2.5-coder-1.5b"
    )

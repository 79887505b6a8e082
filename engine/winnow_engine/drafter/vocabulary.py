"""Tokens from the model's own vocabulary, through llama.cpp, so that there is no second tokenizer."""

from __future__ import annotations

import ctypes
from pathlib import Path

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from winnow_engine.errors import ModelDamagedError


class Vocabulary:
    """The tokenizer of a GGUF, loaded without its weights. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        params = llama_cpp.llama_model_default_params()
        params.vocab_only = True
        self._model = llama_cpp.llama_model_load_from_file(str(path).encode(), params)
        if not self._model:
            raise ModelDamagedError(f"{path} has no vocabulary llama.cpp can read; pull the model again")
        self._vocab = llama_cpp.llama_model_get_vocab(self._model)

    def tokenize(self, text: str, special: bool = False) -> NDArray[np.int32]:
        """Token ids, int32 [T], without BOS or EOS; control tokens in `text` are recognised only if `special`."""
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        buffer = (llama_cpp.llama_token * room)()
        count = llama_cpp.llama_tokenize(self._vocab, data, len(data), buffer, room, False, special)
        assert count >= 0, "a text never has more tokens than bytes"
        return np.ctypeslib.as_array(ctypes.cast(buffer, ctypes.POINTER(ctypes.c_int32)), (room,))[:count].copy()

    def has_control_token(self, text: str) -> bool:
        """Whether `text` is one control token of this vocabulary."""
        return len(self.tokenize(text, special=True)) == 1 < len(self.tokenize(text))

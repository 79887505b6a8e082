"""Text to token ids and back, with a model's own vocabulary."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence, Set

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from winnow_engine.errors import TargetError
from winnow_engine.llama.model import LlamaModel


class Vocabulary:
    """The tokens of a loaded model, which must stay open. Safe to use from several threads."""

    turn_ends: Set[int] = frozenset()
    """Tokens that end an answer, too: the model's chat template says so, but its file may not."""
    shown: Set[int] = frozenset()
    """Control tokens that are part of an answer's text: they mark calls."""

    def __init__(self, model: LlamaModel) -> None:
        self._model, self._handle = model, model.vocabulary

    def tokenize(self, text: str, *, special: bool = False) -> NDArray[np.int32]:
        """Ids int32 [tokens] without BOS or EOS; `<|im_end|>` is a control token only if `special`."""
        data = text.encode("utf-8", "replace")
        # No token is empty, but some vocabularies put a space in front.
        tokens = np.empty(len(data) + 8, np.int32)
        pointer = tokens.ctypes.data_as(llama_cpp.llama_token_p)
        count = llama_cpp.llama_tokenize(self._handle, data, len(data), pointer, len(tokens), False, special)
        if count < 0:
            raise TargetError(f"llama.cpp cannot tokenise a text of {len(data)} bytes (status {count})")
        return tokens[:count].copy()

    def tokenize_each(self, texts: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The ids of all texts in turn, int32 [tokens], and how many each has, int32 [texts]; as `tokenize`."""
        counts = np.zeros(len(texts), np.int32)
        encoded = [text.encode("utf-8", "replace") for text in texts]
        tokens = np.empty(sum(map(len, encoded)) + 8 * len(texts), np.int32)
        address, free, tokenize = tokens.ctypes.data, len(tokens), llama_cpp.llama_tokenize
        for number, data in enumerate(encoded):
            place = ctypes.cast(address + 4 * (len(tokens) - free), llama_cpp.llama_token_p)
            count = tokenize(self._handle, data, len(data), place, free, False, False)
            if count < 0:
                raise TargetError(f"llama.cpp cannot tokenise a text of {len(data)} bytes (status {count})")
            counts[number] = count
            free -= count
        return tokens[: len(tokens) - free].copy(), counts

    def is_control(self, token: int) -> bool:
        """Whether a token is none of the text's: it is written only where control tokens are."""
        return self.piece(token) == b"" != self.piece(token, special=True)

    def has_control_token(self, text: str) -> bool:
        """Whether `text` is one control token of this vocabulary."""
        return len(self.tokenize(text, special=True)) == 1 < len(self.tokenize(text))

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """The bytes of one token, which may be a part of a character. Empty for control tokens, but with `special`."""
        special |= token in self.shown
        buffer = ctypes.create_string_buffer(64)
        size = llama_cpp.llama_token_to_piece(self._handle, token, buffer, len(buffer), 0, special)
        if size < 0:
            buffer = ctypes.create_string_buffer(-size)
            size = llama_cpp.llama_token_to_piece(self._handle, token, buffer, len(buffer), 0, special)
        return buffer.raw[:size]

    def text(self, tokens: Iterable[int], *, special: bool = False) -> str:
        """The text of these tokens, as `piece` has it. Bytes that are not UTF-8 become U+FFFD."""
        return b"".join(self.piece(token, special=special) for token in tokens).decode("utf-8", "replace")

    def is_end(self, token: int) -> bool:
        """Whether the model ends its answer with this token."""
        return token in self.turn_ends or bool(llama_cpp.llama_vocab_is_eog(self._handle, token))

    @property
    def bos(self) -> int | None:
        """The token that every text of this model starts with, or None."""
        wanted = llama_cpp.llama_vocab_get_add_bos(self._handle)
        return int(llama_cpp.llama_vocab_bos(self._handle)) if wanted else None

    def special_texts(self) -> dict[str, str]:
        """The texts of BOS and EOS, "" where there is none, under the names that chat templates use."""
        ids = {"bos_token": llama_cpp.llama_vocab_bos, "eos_token": llama_cpp.llama_vocab_eos}
        tokens = {name: get(self._handle) for name, get in ids.items()}
        return {name: self.spelling(one).decode("utf-8") if one >= 0 else "" for name, one in tokens.items()}

    @property
    def size(self) -> int:
        """The number of tokens."""
        return int(llama_cpp.llama_vocab_n_tokens(self._handle))

    def spelling(self, token: int) -> bytes:
        """How the vocabulary itself writes a token. Unlike `piece`, no two are the same."""
        return bytes(llama_cpp.llama_vocab_get_text(self._handle, token))

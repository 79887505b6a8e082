"""A drafter without weights that counts words."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from winnow_engine.core import Cancellation
from winnow_engine.encoder.file_encoder import FileKeys, FileText

FUSION = {"kinds": {"length": {"one": 1.0}, "names": {"one": 1.0}}, "clues": {"one": 3.0}}


class Words:
    """Scores a unit by its length. A word is a token; `encoded` has the units that were encoded, in order."""

    identity, place, notice, fusion, reranker = "words", "cpu", None, FUSION, None

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def count(self, text: str) -> int:
        return len(text.split())

    def encode(self, files: Iterable[FileText], _: Cancellation) -> Iterator[FileKeys]:
        for file in files:
            self.encoded += file.units
            tokens = np.array([self.count(text) for text in file.units], np.int32)
            rows = np.zeros((int(tokens.sum()), 2), np.int8)
            yield FileKeys(tokens, {"rows": rows, "lengths": tokens.astype(np.float32)})

    def score(self, arrays: Any, offsets: Any, questions: list[str], *_: Any) -> list[dict[str, Any]]:
        assert len(arrays["rows"]) == offsets[-1]
        assert len(arrays["lengths"]) == len(offsets) - 1
        return [{"length": arrays["lengths"]} for _ in questions]

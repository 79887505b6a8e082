"""Files through the stages of the encoder, with a vocabulary of letters and a profile that keeps what it was given."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow_engine.core import Cancellation
from winnow_engine.encoder.file_encoder import FileEncoder, FileKeys, FileText
from winnow_engine.encoder.segments import SEGMENT_TOKENS
from winnow_engine.errors import CancelledError

from .fakes import Identity, Letters, Paths, Recorder

TEXTS = st.lists(st.lists(st.integers(0, 3000).map(lambda n: "abcdefghij"[n % 10] * n), max_size=5), max_size=8)


def encoder(profile: Identity, **options: Any) -> FileEncoder:
    parts = cast("tuple[Any, ...]", (Letters(), Paths(), Recorder(**options), profile))
    return FileEncoder(*parts, threads=3, tokenisers=2)


def encode(files: list[FileText], profile: Identity | None = None, **options: Any) -> list[FileKeys]:
    return list(encoder(profile or Identity(), **options).encode(files, Cancellation()))


@pytest.mark.parametrize("options", [{"parallel": True}, {"batch_tokens": 9000, "parallel": False}])
@given(texts=TEXTS)
def test_every_file_gets_its_own_tokens_in_order(options: dict[str, Any], texts: list[list[str]]) -> None:
    files = [FileText(f"file{number}", tuple(units)) for number, units in enumerate(texts)]
    found = encode(files, **options)
    assert len(found) == len(files)
    for file, keys in zip(files, found, strict=True):
        whole = Letters().tokenize("".join(file.units))
        np.testing.assert_array_equal(keys.unit_tokens, [len(unit) for unit in file.units])
        np.testing.assert_array_equal(keys.arrays["ids"], whole)
        np.testing.assert_array_equal(keys.arrays["sums"], [Letters().tokenize(unit).sum() for unit in file.units])


def test_where_a_file_lies_in_a_batch_does_not_show() -> None:
    files = [FileText("a", ("x" * 1500, "y" * 1500)), FileText("b", ("z" * 700,))]
    together, (first,), (second,) = encode(files), encode(files[:1]), encode(files[1:])
    for keys, alone in zip(together, (first, second), strict=True):
        np.testing.assert_array_equal(keys.arrays["positions"], alone.arrays["positions"])


def test_files_are_not_read_far_ahead_of_the_encoder() -> None:
    read = 0

    def endless() -> Any:
        nonlocal read
        while True:
            read += 1
            yield FileText("f", ("x" * SEGMENT_TOKENS,))

    files = encoder(Identity()).encode(endless(), Cancellation())
    for _ in range(5):
        next(files)
    assert read < 50
    files.close()  # type: ignore[attr-defined]


def test_cancelled_within_a_batch() -> None:
    cancellation = Cancellation()
    files = encoder(Identity()).encode([FileText("f", ("x" * 500,))] * 100, cancellation)
    next(files)
    cancellation.cancel()
    with pytest.raises(CancelledError):
        list(files)

"""Chunks that are encoded at the same time have the keys of those that are not, with real weights."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from winnow_engine.encoder.drafter import Drafter
from winnow_engine.fleet import fleet
from winnow_engine.fleet.fleet import AT_ONCE, encode

from ..unit.fleet.test_ray import CHUNK, FILES, same

pytestmark = pytest.mark.real_weights


def test_chunks_that_are_encoded_at_once_have_the_keys_of_those_that_are_not(smollm2: Path) -> None:
    drafter, dealt = Drafter(smollm2), list(fleet.chunks(FILES, CHUNK))
    expected = [keys for texts in dealt for keys in encode(drafter, texts)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = [keys for chunk in pool.map(lambda texts: encode(drafter, texts), dealt) for keys in chunk]
    same(found, expected)

"""Several drafters with real weights, in processes and on Ray, make the keys that one makes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from winnow_engine.fleet import fleet
from winnow_engine.fleet.worker import AT_ONCE, encode

from ..unit.fleet.drafters import FILES, OneDrafter, deal_small_chunks, needs_ray, same

pytestmark = pytest.mark.real_weights


@pytest.fixture(scope="module")
def one(smollm2: Path) -> OneDrafter:
    return OneDrafter(smollm2)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    deal_small_chunks(monkeypatch)


def test_chunks_that_are_encoded_at_once_have_the_keys_of_those_that_are_not(one: OneDrafter) -> None:
    dealt = list(fleet.chunks(FILES, 2000))
    expected = one.keys
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = [keys for chunk in pool.map(lambda texts: encode(one.drafter, texts), dealt) for keys in chunk]
    same(found, expected)


def test_processes_make_the_keys_of_one_drafter_also_if_they_are_killed(one: OneDrafter) -> None:
    one.check_killed_processes()


@needs_ray
def test_ray_workers_make_the_keys_of_one_drafter_also_if_one_is_killed(one: OneDrafter) -> None:
    one.check_ray()

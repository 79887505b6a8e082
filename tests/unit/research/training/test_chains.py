"""Chains of units: linked, of fair sizes, outside tests, none twice."""

import random
from collections.abc import Sequence

import numpy as np

from winnow_research.training.chains import Chain, chains
from winnow_research.training.collector import TokenisedProject, joined
from winnow_research.training.dataset import Dataset

PATHS = ["shop/cart.py", "shop/till.py", "shop/coin.py", "shop/card.py", "tests/test_till.py"]
USES = {0: [1, 2], 1: [2], 4: [0]}
"""Which file's unit uses which others'."""


class Names:
    """A vocabulary whose tokens are the numbers of units, each the head of a method of its own or of one name."""

    def text(self, ids: Sequence[int]) -> str:
        return "    @property\n    def payable(self):" if ids[0] in (2, 3) else f"def method_{ids[0]}(self):"


def made(sizes: Sequence[int]) -> Dataset:
    """A file for each unit. A question at the cursor for what each uses, and one for each name."""
    part = TokenisedProject("shop", headers=[np.array([7], np.int32)] * len(PATHS), unit_counts=[1] * len(PATHS))
    for unit, size in enumerate(sizes):
        part.units.append(np.full(size, unit, np.int32))
        part.bare.append(np.empty(0, np.int32))
        part.twins.append(unit)
    asked = [("cursor", golds, at) for at, golds in USES.items()] + [("name", [n], -1) for n in range(len(PATHS))]
    for kind, golds, at in asked:
        part.kinds.append(kind)
        part.questions.append(np.array([1], np.int32))
        part.golds.append(golds)
        part.asked_at.append(at)
        part.quotes.append(False)
        part.languages.append("python")
    return joined([part], np.array([1], np.int32))


def found(data: Dataset, count: int = 100, seed: int = 0) -> list[Chain]:
    return [chain for chain, _ in chains(data, Names(), PATHS, count, random.Random(seed))]  # type: ignore[arg-type]


def test_units_of_a_chain_use_one_another_or_have_one_name() -> None:
    pairs = {frozenset(pair) for at, used in USES.items() for pair in ((at, one) for one in used)} | {frozenset((2, 3))}
    seen = {chain for seed in range(20) for chain in found(made([100] * len(PATHS)), seed=seed)}
    assert {2, 3} in [set(chain) for chain in seen]
    assert {0, 1, 2} in [set(chain) for chain in seen]
    for chain in seen:
        assert len(set(chain)) == len(chain) in range(2, 5)
        assert all(any(frozenset((unit, other)) in pairs for other in chain) for unit in chain)


def test_no_chain_comes_twice_and_none_holds_a_test_or_a_unit_of_another_size() -> None:
    expected = ([100] * 5, {0, 1, 2, 3}), ([100, 10, 100, 100, 100], {0, 2, 3}), ([100, 100, 900, 1, 1], {0, 1})
    for sizes, left in expected:
        for seed in range(10):
            some = found(made(sizes), seed=seed)
            assert len({frozenset(chain) for chain in some}) == len(some)
            assert {unit for chain in some for unit in chain} <= left

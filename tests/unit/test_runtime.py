"""A gate lets threads in in order of arrival, also where one gives up. Work ahead holds nothing up that is done."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from winnow_engine.core import Cancellation
from winnow_engine.errors import CancelledError
from winnow_engine.runtime import FairLock, mapped_ahead

PATIENCE_S = 120


def test_a_gate_lets_in_as_many_as_it_has_places_for_and_then_who_came_first() -> None:
    gate, entered, go = FairLock(2), list[int](), [threading.Event() for _ in range(5)]

    def work(number: int) -> None:
        with gate.held(Cancellation()):
            entered.append(number)
            assert go[number].wait(PATIENCE_S)

    with ThreadPoolExecutor(5) as pool:
        for number in range(5):
            pool.submit(work, number)
            while len(entered) + len(gate._waiting) <= number:
                pass
        assert (sorted(entered), len(gate._waiting)) == ([0, 1], 3)
        for number in range(5):
            go[number].set()
            while len(entered) < min(number + 3, 5):
                pass
    assert entered[2:] == [2, 3, 4]


def test_who_gives_up_before_the_gate_takes_nobodys_place() -> None:
    gate, given_up = FairLock(1), Cancellation()

    def enter(cancellation: Cancellation) -> None:
        with gate.held(cancellation):
            pass

    with ThreadPoolExecutor(2) as pool:
        with gate.held(Cancellation()):
            first, second = pool.submit(enter, given_up), pool.submit(enter, Cancellation())
            while len(gate._waiting) < 2:
                pass
            given_up.cancel()
            with pytest.raises(CancelledError):
                first.result(PATIENCE_S)
            assert not second.done()
        second.result(PATIENCE_S)
    with gate.held(Cancellation()):
        assert len(gate._waiting) == 0


def test_a_result_is_given_before_further_items_are_waited_for() -> None:
    given = list[int]()

    def items() -> Iterator[int]:
        yield 1
        pool.submit(int).result(PATIENCE_S)  # by then 1 is done
        yield 2
        assert given

    with ThreadPoolExecutor(1) as pool:
        for number, _ in mapped_ahead(pool, int, items(), 10):
            given.append(number)

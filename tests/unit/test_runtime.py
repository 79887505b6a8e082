"""A gate lets threads in one after the other, in order of arrival, also where one of them gives up."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from winnow_engine.core import Cancellation
from winnow_engine.errors import CancelledError
from winnow_engine.runtime import FairLock

PATIENCE_S = 120


def waiting(gate: FairLock) -> int:
    return len(gate._waiting)


def test_a_gate_lets_in_as_many_as_it_has_places_for_and_then_who_came_first() -> None:
    gate, entered, go = FairLock(2), list[int](), [threading.Event() for _ in range(5)]

    def work(number: int) -> None:
        with gate.held(Cancellation()):
            entered.append(number)
            assert go[number].wait(PATIENCE_S)

    with ThreadPoolExecutor(5) as pool:
        for number in range(5):
            pool.submit(work, number)
            while len(entered) + waiting(gate) <= number:
                pass
        assert (sorted(entered), waiting(gate)) == ([0, 1], 3)
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
            while waiting(gate) < 2:
                pass
            given_up.cancel()
            with pytest.raises(CancelledError):
                first.result(PATIENCE_S)
            assert not second.done()
        second.result(PATIENCE_S)
    with gate.held(Cancellation()):
        assert waiting(gate) == 0

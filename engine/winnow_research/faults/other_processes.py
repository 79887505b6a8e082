"""Faults of processes and clocks: killed, several at once, times that jump, files that change while they are read."""

from __future__ import annotations

import os
import signal
import time

from winnow_research.faults.home import Home, ended, process


def kill(home: Home) -> str:
    """kill -9 at any moment of indexing."""
    child = process(home.index)
    time.sleep(home.rng.random() ** 2 * 0.4)
    os.kill(child, signal.SIGKILL)
    return ended(child)


def two_processes(home: Home) -> str:
    """Three at once, one of which is killed."""
    children = [process(home.index) for _ in range(3)]
    time.sleep(home.rng.random() * 0.1)
    os.kill(children[0], signal.SIGKILL)
    ended(children[0])
    outcomes = {ended(child) for child in children[1:]}
    assert outcomes == {"fine"}, outcomes
    return "fine"


def clock(home: Home) -> str:
    """Clocks and the files' times set back or forward, by up to ten days."""
    shift = home.rng.uniform(-1, 1) * 864_000
    wall, steady = time.time, time.monotonic

    def work() -> None:
        time.time, time.monotonic = lambda: wall() + shift, lambda: max(steady() + shift, 0.0)
        home.index()

    for path in home.rng.sample(sorted(home.root.rglob("*.py")), 3):
        os.utime(path, (wall() + shift,) * 2)
    return ended(process(work))


def replace(home: Home) -> str:
    """Files that change while they are read."""
    child = process(home.index)
    until = time.monotonic() + home.rng.random() * 0.2
    while time.monotonic() < until:
        home.edit()
    return ended(child)

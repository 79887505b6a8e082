"""Faults at random moments, after each of which the index must equal one made from nothing.

A workspace of 40 files is edited between faults and indexed by processes of their own, with a drafter that counts
words, so that no model is needed. Thresholds are lowered, so that tables are written, keys packed and packs joined all
the time. After each fault a new process reads the index, and another one makes one from nothing. Both must know the
same units, words, names and keys, and keys that were stored for good must not be made again. A process that a fault
keeps from its work must end by one of Winnow's named errors.

Workers and the server are Winnow's own commands, with a model of random weights. Power cuts need strace.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Literal

from winnow_research.faults.disk_faults import disk_full, flip, read_only, remove, truncate
from winnow_research.faults.home import Home, lower_thresholds
from winnow_research.faults.other_processes import clock, kill, replace, two_processes
from winnow_research.faults.power import power_cut
from winnow_research.faults.recording import available
from winnow_research.faults.server import kill_server
from winnow_research.faults.sharing import power_cut_publishing, shared_damage
from winnow_research.faults.workers import kill_ray_worker, kill_worker

Needs = Literal["nothing", "strace", "ray"]


@dataclass(frozen=True)
class Kind:
    """A kind of fault. `inject` does one, says what came of it, and checks all that the index is not enough for.

    Files have `functions` functions at most; some change before each fault if it `edits`. With `counted`, the index is
    that of the drafter that counts words. What it `needs` has to be there.
    """

    inject: Callable[[Home], str]
    functions: int = 5
    edits: bool = True
    counted: bool = True
    needs: Needs = "nothing"

    @property
    def name(self) -> str:
        """What the kind is called."""
        return self.inject.__name__


THERE: dict[Needs, Callable[[], bool]] = {
    "nothing": lambda: True,
    "strace": available,
    "ray": lambda: find_spec("ray") is not None,
}
ON_THE_INDEX = (kill, truncate, flip, remove, disk_full, read_only, two_processes, clock, replace)
KINDS = (
    *(Kind(inject) for inject in ON_THE_INDEX),
    Kind(power_cut, needs="strace"),
    Kind(power_cut_publishing, needs="strace"),
    Kind(shared_damage),
    Kind(kill_worker, 60, edits=False, counted=False),
    Kind(kill_ray_worker, 60, edits=False, counted=False, needs="ray"),
    Kind(kill_server, counted=False),
)


def run(times: int, chosen: Collection[str], seed: int, say: Callable[[str], None]) -> dict[str, dict[str, int]]:
    """Inject each kind of fault (or only the chosen ones) so many times; the outcomes by kind.

    AssertionError, which names the kind and the seed, if something was wrong.
    """
    lower_thresholds()
    outcomes: dict[str, Counter[str]] = {}
    for kind in KINDS:
        if chosen and kind.name not in chosen:
            continue
        if not THERE[kind.needs]():
            say(f"{kind.name} is left out: there is no {kind.needs} here")
            continue
        found = outcomes[kind.name] = Counter()
        try:
            with tempfile.TemporaryDirectory() as place:
                inject(kind, Home(Path(place), Random(f"{seed} {kind.name}"), kind.functions), times, found)
        except AssertionError as error:
            raise AssertionError(f"{kind.name} {found.total()}, seed {seed}: {error}") from error
    return {name: dict(sorted(found.items())) for name, found in outcomes.items()}


def inject(kind: Kind, home: Home, times: int, outcomes: Counter[str]) -> None:
    """Inject faults of a kind, and count what came of them. AssertionError if something was wrong."""
    home.place.chmod(0o755)
    home.build()
    if kind.counted:
        home.check()
    for _ in range(times):
        if kind.edits:
            home.edit()
        outcome = kind.inject(home)
        if kind.counted:
            home.check()
        outcomes[outcome] += 1

"""Faults at random moments, after each of which the index must equal one made from nothing.

A workspace of 40 files is edited between faults and indexed by processes of their own, with a drafter that counts
words, so that no model is needed. Thresholds are lowered, so that tables are written, keys packed and packs joined all
the time. After each fault a new process reads the index, and another one makes one from nothing. Both must know the
same units, words, names and keys, and keys that were stored for good must not be made again. A process that a fault
keeps from its work must end by one of Winnow's named errors.

Power cuts need strace.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from random import Random

from winnow_research.faults.disk_faults import disk_full, flip, read_only, remove, truncate
from winnow_research.faults.home import Home, lower_thresholds
from winnow_research.faults.other_processes import clock, kill, replace, two_processes
from winnow_research.faults.power import power_cut
from winnow_research.faults.recording import available
from winnow_research.faults.sharing import power_cut_publishing, shared_damage

Inject = Callable[[Home], str]
"""Injects one fault, and says what came of it."""

ON_THE_INDEX: tuple[Inject, ...] = (kill, truncate, flip, remove, disk_full, read_only, two_processes, clock, replace)
WITH_STRACE: tuple[Inject, ...] = (power_cut, power_cut_publishing)
KINDS = {one.__name__: one for one in (*ON_THE_INDEX, *WITH_STRACE, shared_damage)}


def run(times: int, chosen: Collection[str], seed: int, say: Callable[[str], None]) -> dict[str, dict[str, int]]:
    """Inject each kind of fault (or only the chosen ones) so many times; the outcomes by kind.

    AssertionError, which names the kind and the seed, if something was wrong.
    """
    lower_thresholds()
    outcomes: dict[str, Counter[str]] = {}
    for name in chosen or KINDS:
        if KINDS[name] in WITH_STRACE and not available():
            say(f"{name} is left out: there is no strace here")
            continue
        found = outcomes[name] = Counter()
        try:
            with tempfile.TemporaryDirectory() as place:
                inject(KINDS[name], Home(Path(place), Random(f"{seed} {name}")), times, found)
        except AssertionError as error:
            raise AssertionError(f"{name} {found.total()}, seed {seed}: {error}") from error
    return {name: dict(sorted(found.items())) for name, found in outcomes.items()}


def inject(kind: Inject, home: Home, times: int, outcomes: Counter[str]) -> None:
    """Inject faults of a kind, and count what came of them. AssertionError if something was wrong."""
    home.place.chmod(0o755)
    home.build()
    home.check()
    for _ in range(times):
        home.edit()
        outcome = kind(home)
        home.check()
        outcomes[outcome] += 1

"""Does the index survive what may happen to it? Faults at random moments; afterwards it must be as one made anew.

    python tests/bench/faults.py [--times 50] [--kind kill]... [--seed 1]

A workspace of 40 files is edited between faults and indexed by processes of their own, with a drafter that counts
words, so that no model is needed. Thresholds are lowered, so that tables are written, keys packed and packs joined all
the time. After each fault a new process reads the index, and another one makes one from nothing. Both must know the
same units, words, names and keys, and keys that were stored for good must not be made again. A process that a fault
keeps from its work must end by one of Winnow's named errors.

Workers and the server are Winnow's own commands, with a model of random weights. Power cuts need strace.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Literal

from injection.disk_faults import disk_full, flip, read_only, remove, truncate
from injection.home import Home, lower_thresholds
from injection.other_processes import clock, kill, replace, two_processes
from injection.power import power_cut
from injection.recording import available
from injection.server import kill_server
from injection.sharing import power_cut_publishing, shared_damage
from injection.workers import kill_ray_worker, kill_worker

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


def main() -> int:
    """Inject, check, print the outcomes by kind as JSON. 1 if something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=50, help="of each kind [50]")
    parser.add_argument(
        "--kind", choices=[kind.name for kind in KINDS], action="append", help="only this; also several times"
    )
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    lower_thresholds()
    outcomes: dict[str, Counter[str]] = {}
    for kind in KINDS:
        if arguments.kind and kind.name not in arguments.kind:
            continue
        if not THERE[kind.needs]():
            print(f"{kind.name} is left out: there is no {kind.needs} here", file=sys.stderr)
            continue
        outcomes[kind.name] = Counter()
        try:
            with tempfile.TemporaryDirectory() as place:
                home = Home(Path(place), Random(f"{arguments.seed} {kind.name}"), kind.functions)
                inject(kind, home, arguments.times, outcomes[kind.name])
        except AssertionError as error:
            number = sum(outcomes[kind.name].values())
            print(f"{kind.name} {number}, seed {arguments.seed}: {error}", file=sys.stderr)
            return 1
    print(json.dumps({name: dict(sorted(found.items())) for name, found in outcomes.items()}, indent=2))
    return 0


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


if __name__ == "__main__":
    sys.exit(main())

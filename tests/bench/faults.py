"""Does the index survive what may happen to it? Faults at random moments; afterwards it must be as one made anew.

    python tests/bench/faults.py [--times 50] [--kind kill] [--seed 1]

A workspace of 40 files is edited between faults and indexed by processes of their own, with a drafter that counts
words, so that no model is needed. Thresholds are lowered, so that tables are written, keys packed and packs joined all
the time. After each fault a new process reads the index, and another one makes one from nothing. Both must know the
same units, words, names and keys. A process that a fault keeps from its work must end by one of Winnow's named errors.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import cast

import numpy as np

from winnow_engine import mapped
from winnow_engine.core import Cancellation, Folder, ignore_progress
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.drafter.encoding import FileKeys, FileText
from winnow_engine.errors import FileChangedError, WinnowError
from winnow_engine.index import remembered, workspace
from winnow_engine.index.workspace import Sources, Workspace, read_workspace
from winnow_engine.selection import located_keys
from winnow_engine.selection.key_cache import KeyCache
from winnow_engine.selection.workspace_keys import WorkspaceKeys
from winnow_engine.store import Store

FILES = 40
QUESTION = "where does `parse_header` call other_name of the dog?"
NOBODY = 65534
WORDS = ["parse", "header", "dog", "bark", "other", "name", "token", "scale", "index", "keep", "read", "write"]
FINE, REFUSED, WRONG = 0, 3, 4


class CountingDrafter:
    """Keys are made from words: a row for each."""

    identity, place = "counting", "cpu"

    def encode(self, files: Iterable[FileText], *_: object) -> Iterator[FileKeys]:
        """Keys of each file, one a millisecond."""
        for file in files:
            time.sleep(0.001)
            words = [text.split() or [text] for text in file.units]
            rows = [[len(word) % 100, sum(word.encode()) % 100] for some in words for word in some]
            tokens = np.array([len(some) for some in words], np.int32)
            pooled = np.array([[len(text) % 1000] for text in file.units], np.float16)
            codes = np.array(rows, np.int8).reshape(-1, 2)
            yield FileKeys(tokens, {"codes": codes, "pooled": pooled.reshape(-1, 1)})


class Home:
    """A workspace and its cache."""

    def __init__(self, place: Path, rng: Random) -> None:
        self.root, self.cache, self.scratch, self.rng = place / "root", place / "cache", place / "scratch", rng
        self.root.mkdir(parents=True)
        for number in range(FILES):
            self.write(number)

    def write(self, number: int) -> None:
        """Give a file other content; often as many bytes as before."""
        path = self.root / f"folder{number % 5}" / f"file{number}.py"
        path.parent.mkdir(exist_ok=True)
        names = ["_".join(self.rng.sample(WORDS, 2)) for _ in range(self.rng.randint(1, 5))]
        body = "".join(f"def {name}(x):\n    return {self.rng.choice(WORDS)}(x)\n\n\n" for name in names)
        path.write_text(body)

    def edit(self) -> None:
        """Change, rename or delete a few files."""
        for _ in range(self.rng.randint(0, 6)):
            number = self.rng.randrange(FILES)
            path = self.root / f"folder{number % 5}" / f"file{number}.py"
            how = self.rng.random()
            if how < 0.7 or not path.exists():
                self.write(number)
            elif how < 0.85:
                path.replace(path.with_name(f"moved{number}.py"))
            else:
                path.unlink()

    def index(self, cache: Path | None = None) -> tuple[Workspace, WorkspaceKeys]:
        """Bring the index up to date, as `winnow index` does."""
        with closing(Store((cache or self.cache) / "index.sqlite")) as store:
            keys = KeyCache(store, cast("Drafter", CountingDrafter()))
            for _ in range(100):
                try:
                    read = read_workspace(Sources((Folder(self.root),)), store, Cancellation())
                    return read, keys.of(read, ignore_progress, Cancellation())
                except FileChangedError:
                    continue
            raise WinnowError("files do not stop changing")

    def places(self) -> list[Path]:
        """Every file of the cache."""
        return sorted(path for path in self.cache.rglob("*") if path.is_file())


def digest(read: Workspace, keys: WorkspaceKeys) -> str:
    """A hash of all that the index knows."""
    found = hashlib.blake2b(digest_size=16)
    for file, unit in read.units:
        found.update(f"{file.path} {file.key} {unit} {file.text_of(unit)}".encode())
    scores = [one.score(QUESTION) for one in (read.lexical, read.titles, read.paths)]
    names = read.symbols.asked(QUESTION)
    scores += [read.symbols.definitions(names.certain), read.symbols.users(names.certain | names.possible)]
    for array in (
        *scores,
        read.unit_bytes,
        read.unit_kinds,
        keys.unit_tokens,
        keys.offsets,
        *(keys.arrays[name] for name in sorted(keys.arrays)),
    ):
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def process(work: Callable[[], None]) -> int:
    """Start `work` in a process of its own; its number. It ends with FINE, or REFUSED by a named error."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    status = WRONG
    try:
        work()
        status = FINE
    except WinnowError:
        status = REFUSED
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def ended(child: int) -> str:
    """Wait for a process. How it ended; AssertionError if by what users should not see."""
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL, f"ended by signal {os.WTERMSIG(status)}"
        return "killed"
    code = os.WEXITSTATUS(status)
    assert code in (FINE, REFUSED), "ended by an error that has no name"
    return "fine" if code == FINE else "refused"


def check(home: Home) -> None:
    """That a new process finds in the index what one made from nothing says."""
    places = [home.cache, home.scratch / str(time.monotonic_ns())]
    results = [place.parent / f"digest{number}" for number, place in enumerate(places)]
    for place, result in zip(places, results, strict=True):
        how = ended(process(lambda: result.write_text(digest(*home.index(place))) and None))  # noqa: B023
        assert how == "fine", f"{how} in {place}"
    one, other = (result.read_text() for result in results)
    assert one == other, f"the index differs from one made from nothing: {home.root}"


def kill(home: Home) -> str:
    """kill -9 at any moment of indexing."""
    child = process(lambda: home.index() and None)
    time.sleep(home.rng.random() ** 2 * 0.4)
    os.kill(child, signal.SIGKILL)
    return ended(child)


def truncate(home: Home) -> str:
    """Any file of the cache cut off."""
    place = home.rng.choice(home.places())
    size = place.stat().st_size
    os.truncate(place, home.rng.randrange(size) if size else 0)
    return place.suffix


def flip(home: Home) -> str:
    """Any bit of any file of the cache."""
    place = home.rng.choice([place for place in home.places() if place.stat().st_size])
    data = bytearray(place.read_bytes())
    data[home.rng.randrange(len(data))] ^= 1 << home.rng.randrange(8)
    place.write_bytes(data)
    return place.suffix


def remove(home: Home) -> str:
    """Any file of the cache deleted."""
    place = home.rng.choice(home.places())
    place.unlink()
    return place.suffix


def disk_full(home: Home) -> str:
    """No file may grow beyond some size."""
    limit = int(2 ** home.rng.uniform(8, 21))

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        home.index()

    return ended(process(work))


def read_only(home: Home) -> str:
    """A cache that another user owns."""

    def work() -> None:
        if os.getuid() == 0:
            os.setuid(NOBODY)
        home.index()

    places = [home.cache, *home.cache.rglob("*")]
    modes = {place: place.stat().st_mode for place in places}
    for place in places:
        place.chmod(0o555 if place.is_dir() else 0o444)
    try:
        return ended(process(work))
    finally:
        for place, mode in modes.items():
            place.chmod(mode)


def two_processes(home: Home) -> str:
    """Three at once, one of which is killed."""
    children = [process(lambda: home.index() and None) for _ in range(3)]
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
    child = process(lambda: home.index() and None)
    until = time.monotonic() + home.rng.random() * 0.2
    while time.monotonic() < until:
        home.edit()
    return ended(child)


KINDS = (kill, truncate, flip, remove, disk_full, read_only, two_processes, clock, replace)


def lower_thresholds() -> None:
    """So that a small workspace does all that a large one does."""
    workspace._FEW_UNITS = workspace._FEW_SHARE = 0  # type: ignore[assignment]
    located_keys._LOOSE_TOKENS, located_keys._LOOSE_SHARE, located_keys._MOST_PACKS = 20, 0.01, 2
    remembered._SAVE_EVERY_S = -1.0
    remembered._LONGEST_TICK_S = mapped._LONGEST_TICK_S = 0.05


def main() -> int:
    """Inject, check, print the outcomes by kind as JSON. 1 if something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=50, help="of each kind [50]")
    parser.add_argument("--kind", choices=[kind.__name__ for kind in KINDS], help="only this one")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    lower_thresholds()
    outcomes: dict[str, Counter[str]] = {}
    for kind in KINDS:
        if arguments.kind not in (None, kind.__name__):
            continue
        with tempfile.TemporaryDirectory() as place:
            home = Home(Path(place), Random(f"{arguments.seed} {kind.__name__}"))
            Path(place).chmod(0o755)
            home.index()
            for number in range(arguments.times):
                home.edit()
                try:
                    outcomes.setdefault(kind.__name__, Counter())[kind(home)] += 1
                    check(home)
                except AssertionError as error:
                    print(f"{kind.__name__} {number}, seed {arguments.seed}: {error}", file=sys.stderr)
                    return 1
    print(json.dumps({name: dict(sorted(found.items())) for name, found in outcomes.items()}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())

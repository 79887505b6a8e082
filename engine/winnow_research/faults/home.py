"""A workspace with its index, made by a drafter that counts words; and what must hold of the index after a fault."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, cast

import numpy as np

from winnow_engine.core import Cancellation, Folder, ignore
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.errors import FileChangedError, WinnowError
from winnow_engine.index import stat_cache as remembered
from winnow_engine.index import workspace
from winnow_engine.index.workspace import Sources, Workspace, read_workspace
from winnow_engine.keys import key_lookup as located_keys
from winnow_engine.keys.key_cache import KeyCache
from winnow_engine.keys.workspace_keys import WorkspaceKeys
from winnow_engine.sharing.index import attach
from winnow_engine.storage import mapped
from winnow_engine.storage.store import Store
from winnow_research.faults.counting_drafter import CountingDrafter

FILES = 40
QUESTION = "where does `parse_header` call other_name of the dog?"
WORDS = ["parse", "header", "dog", "bark", "other", "name", "token", "scale", "index", "keep", "read", "write"]
FINE, REFUSED, WRONG = 0, 3, 4


class Home:
    """A workspace and its cache, in the folder `place`. Its files have five functions at most."""

    def __init__(self, place: Path, rng: Random) -> None:
        self.place, self.rng = place, rng
        self.root, self.cache, self.scratch = place / "root", place / "cache", place / "scratch"
        self.promised = frozenset[str]()
        """The names of the keys that are stored for good: none of them may have to be made again."""

    def build(self) -> None:
        """Write the workspace."""
        self.scratch.mkdir(parents=True, exist_ok=True)
        for number in range(FILES):
            self.write(number)

    def write(self, number: int) -> None:
        """Give a file other content; often as many bytes as before."""
        path = self.root / f"folder{number % 5}" / f"file{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
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

    def index(self) -> Indexed:
        """Bring the index up to date, as `winnow index` does."""
        return indexed(self.root, self.cache)

    def places(self) -> list[Path]:
        """Every file of the cache."""
        return sorted(path for path in self.cache.rglob("*") if path.is_file())

    def check(self) -> None:
        """That a new process finds in the index what one made from nothing says, and that nothing promised is lost."""
        found, anew = self.found_in(self.cache), self.found_in(self.new_folder())
        assert found["digest"] == anew["digest"], f"the index differs from one made from nothing: {self.root}"
        again = {found["names"][path] for path in found["encoded"]} & self.promised
        assert not again, f"{len(again)} files are encoded again, whose keys were stored"
        self.promised = frozenset(found["names"].values())

    def found_in(self, cache: Path, *shared: Path) -> dict[str, Any]:
        """What a process of its own finds in an index, and in shared ones beneath it, and what it had to encode."""
        result = self.new_folder()

        def work() -> None:
            drafter = CountingDrafter()
            one = indexed(self.root, cache, drafter, shared)
            names = {file.path: file.units_key for file in one.read.files}
            about = {"encoded": drafter.encoded, "names": names, "problems": one.problems}
            result.write_text(json.dumps({"digest": one.digest, **about}))

        how = ended(process(work))
        assert how == "fine", f"{how} in {cache}"
        found: dict[str, Any] = json.loads(result.read_text())
        return found

    def new_folder(self) -> Path:
        """A path where nothing is yet."""
        return self.scratch / str(time.monotonic_ns())


@dataclass(frozen=True, slots=True)
class Indexed:
    """A workspace with its keys, and what the user is told about shared indexes."""

    read: Workspace
    keys: WorkspaceKeys
    problems: tuple[str, ...]

    @property
    def digest(self) -> str:
        """A hash of all that the index knows."""
        found = hashlib.blake2b(digest_size=16)
        for file, unit in self.read.units:
            found.update(f"{file.path} {file.key} {unit} {file.text_of(unit)}".encode())
        scores = [one.score(QUESTION) for one in (self.read.lexical, self.read.titles, self.read.paths)]
        names = self.read.symbols.asked(QUESTION)
        scores += [
            self.read.symbols.definitions(names.certain),
            self.read.symbols.users(names.certain | names.possible),
        ]
        for array in (
            *scores,
            self.read.unit_bytes,
            self.read.unit_kinds,
            self.keys.unit_tokens,
            self.keys.joined.offsets,
            *(self.keys.joined.arrays[name] for name in sorted(self.keys.joined.arrays)),
        ):
            found.update(np.ascontiguousarray(array).tobytes())
        return found.hexdigest()


def indexed(root: Path, cache: Path, drafter: CountingDrafter | None = None, shared: Iterable[Path] = ()) -> Indexed:
    """Bring the index of a workspace up to date."""
    with closing(Store(cache / "index.sqlite")) as store:
        attach(store, map(str, shared))
        cached = KeyCache(store, cast("Drafter", drafter or CountingDrafter()))
        for _ in range(100):
            try:
                read = read_workspace(Sources((Folder(root),)), store, Cancellation())
                return Indexed(read, cached.of(read, ignore, Cancellation()), store.problems)
            except FileChangedError:
                continue
        raise WinnowError("files do not stop changing")


def process(work: Callable[[], object]) -> int:
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


def lower_thresholds() -> None:
    """So that a small workspace does all that a large one does."""
    workspace._FEW_UNITS = workspace._FEW_SHARE = 0
    located_keys._LOOSE_TOKENS, located_keys._LOOSE_SHARE, located_keys._MOST_PACKS = 20, 0.01, 2
    remembered._SAVE_EVERY_S = -1.0
    remembered._LONGEST_TICK_S = mapped._LONGEST_TICK_S = 0.05

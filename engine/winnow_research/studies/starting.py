"""What does a new process pay for a workspace that did not change? Time, memory and disk, without a model.

The workspace has copies of the Python files of the installed packages, each under a name of its own. Keys are drawn
with as many bytes as the default adapter's, a token for four characters. Each start is a process of its own: it reads
the workspace, finds a question's words and names, and has the keys mapped.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import cycle, islice
from pathlib import Path
from typing import Any, cast

import numpy as np

from winnow_engine.core import Cancellation, Folder, ignore_progress
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.drafter.encoding import FileKeys, FileText
from winnow_engine.index.workspace import Sources, read_workspace
from winnow_engine.selection.key_cache import KeyCache
from winnow_engine.store import Store
from winnow_research.machine import median, report
from winnow_research.studies import study_parser

_QUESTION = "Where are requests that failed tried again by `retry`?"
_SIZES = range(500, 60_000)
_TICK_S = 3.5  # after which a file is read once more, and then trusted


class DrawnKeys:
    """A drafter whose keys say nothing."""

    identity, place = "drawn", "cpu"

    def encode(self, files: Iterable[FileText], *_: object) -> Iterator[FileKeys]:
        """As many keys as files of this size have."""
        for file in files:
            tokens = np.array([max(len(text) // 4, 1) for text in file.units], np.int32)
            count = int(tokens.sum())
            yield FileKeys(
                tokens,
                {
                    "codes": np.ones((count, 64), np.int8),
                    "scales": np.ones(count, np.float16),
                    "pooled": np.ones((len(tokens), 256), np.float16),
                },
            )


def copied(folder: Path, count: int) -> None:
    """Write `count` files of installed packages, 20 to a folder."""
    packages = Path(sysconfig.get_paths()["purelib"])
    found = sorted(path for path in packages.rglob("*.py") if path.stat().st_size in _SIZES)
    for number, path in enumerate(islice(cycle(found), count)):
        place = folder / f"part{number // 400}" / f"folder{number // 20}" / f"m{number}_{path.name}"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(path.read_bytes())


def start(root: Path, cache: Path) -> dict[str, Any]:
    """One process's start: processor seconds by stage, and its memory in MB."""
    row: dict[str, Any] = {}

    def timed(name: str, since: tuple[float, float]) -> None:
        row[f"{name}_s"], row[f"{name}_cpu_s"] = time.perf_counter() - since[0], time.process_time() - since[1]

    with closing(Store(cache / "index.sqlite")) as store:
        since = time.perf_counter(), time.process_time()
        workspace = read_workspace(Sources((Folder(root),)), store, Cancellation())
        timed("read", since)
        since = time.perf_counter(), time.process_time()
        for found in (workspace.lexical, workspace.titles, workspace.paths):
            found.score(_QUESTION)
        workspace.symbols.definitions(workspace.symbols.asked(_QUESTION).certain)
        timed("question", since)
        since = time.perf_counter(), time.process_time()
        keys = KeyCache(store, cast("Drafter", DrawnKeys())).of(workspace, ignore_progress, Cancellation())
        timed("keys", since)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    row |= {f"{name}_mb": int(status[name].split()[0]) / 1e3 for name in ("RssAnon", "RssFile")}
    row["most_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return row | {"files": len(workspace.files), "units": len(workspace.units), "tokens": keys.tokens}


def main() -> None:
    """Measure, print and write results/starting.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--start", type=Path, nargs=2, metavar=("ROOT", "CACHE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.start:
        print(json.dumps(start(*arguments.start)))
        return
    with tempfile.TemporaryDirectory() as place:
        root, cache = Path(place, "root"), Path(place, "cache")
        copied(root, arguments.files)
        command = [sys.executable, "-m", "winnow_research.studies.starting", "--start", str(root), str(cache)]
        rows = []
        for _ in range(arguments.repeat + 3):  # the first makes the index, the second trusts the files
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            rows.append(json.loads(done.stdout))
            time.sleep(_TICK_S if len(rows) < 4 else 0)
        disk = {
            folder.name: sum(path.stat().st_size for path in [folder, *folder.rglob("*")] if path.is_file())
            for folder in cache.iterdir()
        }
    found = {name: median([row[name] for row in rows[3:]]) for name in rows[0]}
    per_token = {name: round(size / found["tokens"], 1) for name, size in disk.items()}
    report("starting", {"first": rows[0], "second": rows[1], "unchanged": found, "bytes_a_token": per_token})


if __name__ == "__main__":
    main()

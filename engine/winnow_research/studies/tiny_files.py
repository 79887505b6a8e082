"""What does it cost to index many tiny files? Tokens a second, cold, against fewer and larger files.

The folder has files of two lines each. Three cases take turns, each with a store of its own: as the product does it; as
it did before, with a transaction for each record and every file's header computed; and the same lines in one file a
folder, which is as fast as the drafter gets.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from winnow_cuda.cpu.shared_rows import EVERY
from winnow_engine.core import Cancellation, Folder, ignore_progress
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.workspace import Sources, read_workspace
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_engine.selection.key_cache import KeyCache
from winnow_engine.store import Store
from winnow_research.machine import median, report
from winnow_research.studies import study_parser

_FOLDER_FILES = 100


def tiny_files(count: int) -> dict[str, str]:
    """The texts of `count` modules by path, 100 to a folder."""
    return {
        f"package{i // _FOLDER_FILES:02}/module_{i:04}.py": f"LIMIT_{i} = {i * 37}\nNAME_{i} = 'number {i}'\n"
        for i in range(count)
    }


def joined(files: dict[str, str]) -> dict[str, str]:
    """The same lines in one file a folder."""
    found: dict[str, str] = {}
    for path, text in files.items():
        name = path.partition("/")[0] + ".py"
        found[name] = found.get(name, "") + text
    return found


@contextmanager
def as_before() -> Iterator[None]:
    """A transaction for each record; no row of a batch is shared."""
    with (
        patch("winnow_engine.store._WRITE_EVERY_S", 0.0),
        patch("winnow_cuda.cpu.encoder.shared_rows", lambda _: (EVERY, EVERY)),
    ):
        yield


def index(files: dict[str, str], drafter: Drafter) -> dict[str, float]:
    """Index these files, written to a new folder, with a new store → seconds by stage, processor seconds, tokens."""
    with tempfile.TemporaryDirectory() as folder, closing(Store(Path(folder, "index.sqlite"))) as store:
        for path, text in files.items():
            place = Path(folder, "root", path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        started, cpu = time.perf_counter(), time.process_time()
        workspace = read_workspace(Sources((Folder(Path(folder, "root")),)), store, Cancellation())
        read = time.perf_counter()
        keys = KeyCache(store, drafter).of(workspace, ignore_progress, Cancellation())
        ended = time.perf_counter()
        return {
            "tokens": int(keys.unit_tokens.sum()),
            "read_s": read - started,
            "index_s": ended - read,
            "cpu_s": time.process_time() - cpu,
        }


def _row(runs: list[dict[str, float]]) -> dict[str, Any]:
    tokens = runs[0]["tokens"]
    seconds = {name: median([run[name] for run in runs]) for name in ("read_s", "index_s", "cpu_s")}
    per_s = median([tokens / (run["read_s"] + run["index_s"]) for run in runs], 0)
    per_cpu_s = median([tokens / run["cpu_s"] for run in runs], 0)
    return {"tokens": tokens, **seconds, "tokens_per_s": per_s, "tokens_per_cpu_s": per_cpu_s}


def main() -> None:
    """Measure, print and write results/tiny_files.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--files", type=int, default=3000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--drafter", default=DEFAULT_DRAFTER)
    options = parser.parse_args()
    drafter, files = Drafter(locate(options.drafter)), tiny_files(options.files)
    index(tiny_files(_FOLDER_FILES), drafter)  # compiles what is not compiled yet
    runs: dict[str, list[dict[str, float]]] = {"before": [], "now": [], "one file a folder": []}
    for _ in range(options.repeat):
        with as_before():
            runs["before"].append(index(files, drafter))
        runs["now"].append(index(files, drafter))
        runs["one file a folder"].append(index(joined(files), drafter))
    rows = {name: _row(found) for name, found in runs.items()}
    report("tiny_files", {"files": options.files, "repeat": options.repeat, "rows": rows})


if __name__ == "__main__":
    main()

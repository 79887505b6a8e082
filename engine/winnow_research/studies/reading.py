"""What does a question cost before the drafter scores anything? Reading the workspace, finding its words and names.

The workspace is scrapy's source distribution. Three cases take turns: the index is on disk only, as in a new process;
one file was edited; nothing has changed since the question before. No model is loaded.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from winnow_engine.core import Cancellation, Folder
from winnow_engine.index.workspace import Sources, Workspace, read_workspace
from winnow_engine.store import Store
from winnow_research.evaluation.archives import unpacked
from winnow_research.evaluation.repositories import Split, repositories
from winnow_research.machine import median, report
from winnow_research.studies import study_parser

_QUESTION = "Where are requests that failed tried again?"


def ask(sources: Sources, store: Store, before: Workspace | None) -> Workspace:
    """Everything about a question that needs no model."""
    workspace = read_workspace(sources, store, Cancellation(), before)
    names = workspace.symbols.asked(_QUESTION)
    for found in (workspace.lexical, workspace.titles, workspace.paths):
        found.score(_QUESTION)
    workspace.symbols.definitions(names.certain)
    return workspace


def seconds(work: Callable[[], Workspace]) -> tuple[float, float, Workspace]:
    """Wall clock time, processor time, and the workspace that `work` returned."""
    wall, cpu = time.perf_counter(), time.process_time()
    workspace = work()
    return time.perf_counter() - wall, time.process_time() - cpu, workspace


def main() -> None:
    """Measure, print and write results/reading.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--repeat", type=int, default=9)
    repeat = parser.parse_args().repeat
    scrapy = next(one for one in repositories(Split.CALIBRATION) if one.name == "scrapy")
    times: dict[str, list[tuple[float, float]]] = {"index on disk": [], "one file edited": [], "nothing changed": []}
    with tempfile.TemporaryDirectory() as directory, closing(Store(Path(directory) / "index.sqlite")) as store:
        root = shutil.copytree(unpacked(scrapy.archive), Path(directory) / "scrapy")
        sources = Sources((Folder(root),))
        edited = sorted(root.rglob("*.py"))[0]
        workspace = ask(sources, store, None)
        for _ in range(repeat):
            *first, workspace = seconds(lambda: ask(sources, store, None))
            edited.write_bytes(edited.read_bytes() + b"\n# edited\n")
            *second, workspace = seconds(partial(ask, sources, store, workspace))
            *third, workspace = seconds(partial(ask, sources, store, workspace))
            for found, took in zip(times.values(), (first, second, third), strict=True):
                found.append((took[0], took[1]))
    size = {"files": len(workspace.files), "bytes": sum(len(file.data) for file in workspace.files)}
    rows = {
        name: {"seconds": median([w for w, _ in took]), "cpu_seconds": median([c for _, c in took])}
        for name, took in times.items()
    }
    first_row, last_row = rows["index on disk"], rows["nothing changed"]
    ratio = round(first_row["cpu_seconds"] / last_row["cpu_seconds"], 1)
    report("reading", {"repeat": repeat, "workspace": size, "rows": rows, "cpu_ratio": ratio})


if __name__ == "__main__":
    main()

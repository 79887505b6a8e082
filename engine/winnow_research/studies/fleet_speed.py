"""How much sooner is a large workspace indexed by several workers? In turns: this process alone, then so many workers.

Workers have loaded their drafter, and kernels are compiled, before the clock starts. A worker is a process with the
next GPU in turn, or with its share of the cores where there is none. Each way makes the index from nothing.
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from winnow_engine.assistant import Assistant
from winnow_engine.core import Cancellation, Folder
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.fleet.fleet import Fleet
from winnow_engine.fleet.processes import open_processes, visible_devices
from winnow_engine.index.analysts import open_analysts
from winnow_engine.index.workspace import Sources
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_engine.runtime import Stages
from winnow_engine.store import Store
from winnow_research.first_token.memory import watched
from winnow_research.indexing.material import Material, written
from winnow_research.machine import report
from winnow_research.studies import study_parser


def measured(model: Path, drafter: Drafter, workers: int, material: Material, warm: int) -> dict[str, Any]:
    """Seconds of an index made from nothing by so many workers; 0 is the drafter of this process.

    Before, other files of `warm` bytes for each worker are indexed.
    """

    def opened(_: Drafter, __: int) -> Fleet:
        return open_processes(model, drafter, workers)

    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Store(Path(folder, "index.sqlite"))) as store,
        closing(
            Assistant(store, lambda: drafter, analysts=open_analysts(), open_fleet=opened if workers else None)
        ) as assistant,
    ):
        with tempfile.TemporaryDirectory() as scratch:
            assistant.index(_like(material, Path(scratch), max(workers, 1) * warm))
        stages, tokens = Stages(), [0]
        with watched() as peak:
            started = time.perf_counter()
            assistant.index(material.sources, lambda made: tokens.append(made.tokens), Cancellation(), stages)
            seconds = time.perf_counter() - started
        return {
            "workers": workers,
            "seconds": round(seconds, 2),
            "tokens": max(tokens),
            "tokens_per_s": round(max(tokens) / seconds),
            "peak_bytes": peak.anonymous,
            "children_bytes": peak.children,
            "stages": {name: asdict(busy) for name, busy in stages.report().items()},
            "notices": list(assistant.notices),
        }


def _like(material: Material, root: Path, room: int) -> Sources:
    """Files like the material's, which are none of them: indexing those makes no keys of these."""
    for number, path in enumerate(sorted(path for path in material.root.rglob("*.*") if path.is_file())):
        data = b"\n" + path.read_bytes()
        (root / f"{number}{path.suffix}").write_bytes(data)
        room -= len(data)
        if room <= 0:
            break
    return Sources((Folder(root),))


def main() -> None:
    """Index in turns, and report after each."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--tokens", type=int, default=10_000_000, help="about, of pinned repositories (%(default)s)")
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2], help="(%(default)s)")
    parser.add_argument("--warm", type=int, default=3_000_000, help="bytes a worker indexes before (%(default)s)")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--drafter", default=DEFAULT_DRAFTER)
    options = parser.parse_args()
    model, found = locate(options.drafter), list[dict[str, Any]]()
    with tempfile.TemporaryDirectory() as folder:
        material = written(options.tokens, Path(folder))
        drafter = Drafter(model)
        for _ in range(options.rounds):
            for workers in options.workers:
                found.append(measured(model, drafter, workers, material, options.warm))
                print(found[-1], file=sys.stderr, flush=True)
    report("fleet-speed", {"devices": visible_devices(), "runs": found})


if __name__ == "__main__":
    main()

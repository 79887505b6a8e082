"""What do provisional keys cost? Edits of pinned code, asked about before and after the file is encoded anew.

Files of each repository are edited at random: one gets a line of another that it did not have (`line`), or up to 20
lines give way to as many of another file (`lines`). Then questions are asked: three about the repository, and one about
the name of each changed unit.
`rank` is Spearman's correlation of the drafter's scores of the edited file's units with the final ones, the median over
edits and questions, and `rank_p10` its tenth percentile. `changed` is how far a changed unit's score is off at most, as
a share of the deviation of all scores. `kept` is the share of the finally kept lines that are kept, and `files` how
often the edited file is kept by one and not by the other, both in percent. Seconds are those of reading and encoding.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Cancellation, Folder, ignore_progress
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.workspace import Sources
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_engine.question import Question
from winnow_engine.selection.ranking import Selection
from winnow_engine.selection.workspace_keys import WorkspaceKeys
from winnow_engine.store import Store
from winnow_research.evaluation.cases import Scene
from winnow_research.evaluation.repositories import Repository, Split, repositories
from winnow_research.evaluation.tasks.real import load
from winnow_research.indexing.material import ASKED_OF_ANY
from winnow_research.machine import report
from winnow_research.studies import study_parser

_LEAST_BYTES, _MOST_BYTES = 8_000, 40_000  # of a file that is edited
_MOST_LINES = 20


class Edited:
    """Some files of a repository with their index; each edit is undone before the next."""

    def __init__(self, repository: Repository, drafter: Drafter, folder: Path, budget: int, files: int) -> None:
        self.root, self.budget, self.drafter = folder / "root", Budget(budget), drafter
        sources = [one for one in repository.files() if one.path.endswith((".py", ".rs", ".ts", ".go", ".java", ".c"))]
        long = [one for one in sources if _LEAST_BYTES < len(one.data) < _MOST_BYTES]
        chosen = Random(0).sample(long, min(files, len(long)))
        Scene(repository.name, tuple(chosen), ()).write(self.root)
        self.sources = Sources((Folder(self.root),))
        self.paths = sorted(path for path in self.root.rglob("*") if path.is_file())
        self.questions = [one.text for one in load(repository)[:3]] or ASKED_OF_ANY
        self.store = Store(folder / "index.sqlite")
        self.assistant = Assistant(self.store, lambda: drafter)
        self.assistant.index(self.sources)

    def edit(self, how: str, random: Random) -> tuple[Path, set[str]]:
        """Change a file. Its path, and the texts of the units that it had."""
        path, other = random.sample(self.paths, 2)
        before = IndexedFile.of(path.name, path.name, path.read_bytes())
        lines, others = (one.read_bytes().splitlines(keepends=True) for one in (path, other))
        at = random.randrange(len(lines))
        if how == "line":
            lines.insert(at, random.choice([line for line in others if line.strip() and line not in lines]))
        else:
            count, start = random.randint(1, _MOST_LINES), random.randrange(len(others))
            lines[at : at + count] = others[start : start + count]
        path.write_bytes(b"".join(lines))
        return path, set(before.texts(before.units))

    def compared(self, path: Path, known: set[str]) -> Iterator[dict[str, float]]:
        """Provisional keys against those that the complete index has, for each question."""
        cache, cancellation = self.assistant.keys.wait_for(Cancellation()), Cancellation()
        started = time.perf_counter()
        workspace = self.assistant.read(self.sources, cancellation)
        early = cache.soon(workspace, cancellation)
        seconds = time.perf_counter() - started
        if early is None:
            return
        name = path.relative_to(self.root).as_posix()
        number = workspace.file_number(name)
        file = workspace.files[number]
        changed = [n for n, text in enumerate(file.texts(file.units)) if text not in known]
        units = np.arange(workspace.unit_starts[number], workspace.unit_starts[number + 1])
        named = dict.fromkeys(f"How does {file.units[n].name} work?" for n in changed if file.units[n].name)
        questions = [*self.questions, *named]
        first = [self._asked(text, early) for text in questions]
        keys = cache.of(workspace, ignore_progress, cancellation)
        complete = time.perf_counter() - started
        second = [self._asked(text, keys) for text in questions]
        for (before, chosen), (after, finally_chosen) in zip(first, second, strict=True):
            off = np.abs(before - after)[units[changed]] / after.std()
            mine, theirs = _kept(chosen), _kept(finally_chosen)
            yield {
                "rank": _spearman(before[units], after[units]),
                "changed": float(off.max(initial=0.0)),
                "kept": len(mine & theirs) / max(len(theirs), 1),
                "files": float((name in {file for file, _ in mine}) != (name in {file for file, _ in theirs})),
                "seconds": seconds,
                "complete_s": complete,
            }

    def _asked(self, text: str, keys: WorkspaceKeys) -> tuple[NDArray[np.float32], Selection]:
        scores = self.drafter.score(keys.arrays, keys.offsets, text)
        total = np.sum([(one - one.mean()) / one.std() for one in scores.values()], axis=0)
        return total, self.assistant.select(self.sources, Question(text), self.budget)


def _spearman(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    if len(one) < 3:
        return 1.0
    return float(np.corrcoef(one.argsort().argsort(), other.argsort().argsort())[0, 1])


def _kept(selection: Selection) -> set[tuple[str, int]]:
    return {(one.path, line) for one in selection.spans for line in range(one.start_line, one.end_line + 1)}


def row(found: list[dict[str, float]]) -> dict[str, float]:
    """Medians and tails."""
    of = {name: np.array([one[name] for one in found]) for name in found[0]}
    return {
        "asked": len(found),
        "rank": round(float(np.median(of["rank"])), 3),
        "rank_p10": round(float(np.percentile(of["rank"], 10)), 3),
        "changed": round(float(np.median(of["changed"])), 3),
        "changed_p90": round(float(np.percentile(of["changed"], 90)), 3),
        "kept": round(100 * float(of["kept"].mean()), 1),
        "files": round(100 * float(of["files"].mean()), 1),
        "seconds": round(float(np.median(of["seconds"])), 3),
        "seconds_p95": round(float(np.percentile(of["seconds"], 95)), 3),
        "complete_s": round(float(np.median(of["complete_s"])), 3),
    }


def main() -> None:
    """Measure, print, write results/provisional_keys.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("repositories", nargs="+", metavar="REPOSITORY")
    parser.add_argument("--edits", type=int, default=10, help="of each kind, in each repository (%(default)s)")
    parser.add_argument("--files", type=int, default=8, help="of each repository (%(default)s)")
    parser.add_argument("--budget", type=int, default=2600, help="tokens to keep (%(default)s)")
    parser.add_argument("--drafter", default=DEFAULT_DRAFTER)
    options = parser.parse_args()
    drafter = Drafter(locate(options.drafter))
    chosen = [one for split in Split for one in repositories(split) if one.name in options.repositories]
    found: dict[str, list[dict[str, float]]] = {"line": [], "lines": []}
    for repository in chosen:
        with tempfile.TemporaryDirectory() as folder:
            edited, random = Edited(repository, drafter, Path(folder), options.budget, options.files), Random(1)
            with closing(edited.store), closing(edited.assistant):
                for how in found:
                    for _ in range(options.edits):
                        before = {path: path.read_bytes() for path in edited.paths}
                        path, known = edited.edit(how, random)
                        found[how] += edited.compared(path, known)
                        path.write_bytes(before[path])
                        edited.assistant.index(edited.sources)
        rows: dict[str, Any] = {how: row(some) for how, some in found.items() if some}
        print(repository.name, rows, file=sys.stderr, flush=True)
    report("provisional_keys", {"drafter": options.drafter, "repositories": options.repositories, **rows})


if __name__ == "__main__":
    main()

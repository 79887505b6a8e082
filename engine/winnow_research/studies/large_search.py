"""How long does a search take in ten million tokens, and what in it?

The workspace is pinned repositories, again and again under other paths, with keys drawn at random: how many there are
decides how long it takes, not what they say. Every question of *real* about one of the repositories is read by the
drafter, then asked with every unit scored and in two levels. Words, names and keys are in memory. `--vectors` instead
times what needs no workspace, with so many units: unit vectors, choosing the best, and MaxSim of candidates.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Budget, Cancellation
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.drafter.profile import QuestionStates
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.records import analysed
from winnow_engine.index.remembered import Content
from winnow_engine.index.workspace import Workspace
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_engine.question import Question
from winnow_engine.selection.asked_question import AskedQuestion, ask_drafter
from winnow_engine.selection.candidates import highest
from winnow_engine.selection.fusion import fuse
from winnow_engine.selection.fusion_weights import read_fusion_weights
from winnow_engine.selection.ranking import Ranked
from winnow_engine.selection.subquestions import subquestions_of
from winnow_engine.selection.two_levels import Breadth, TwoLevelSearch
from winnow_engine.selection.workspace_keys import TOKENS_PER_BYTE, KeyPart, WorkspaceKeys
from winnow_research.cli.bench.shared import parse_size
from winnow_research.evaluation.repositories import Repository
from winnow_research.evaluation.tasks.real import load
from winnow_research.machine import median, report
from winnow_research.studies import study_parser
from winnow_research.studies.select_speed import chosen

_PIECE = 1 << 16
_TOKENS_A_UNIT = 160


def repeated(repositories: Sequence[Repository], tokens: int) -> Workspace:
    """About so many tokens: the repositories' files, then copies of them."""
    kept = cache(analysed)
    files: list[IndexedFile] = []
    room = tokens / TOKENS_PER_BYTE
    for copy in count():
        for file in (file for one in repositories for file in one.files()):
            if room <= 0:
                return Workspace(tuple(sorted(files, key=lambda one: one.path)))
            path = f"copy{copy:03}/{file.path}"
            files.append(IndexedFile(path, path, Content.of(path, file.data), kept(file.path, file.data)))
            room -= len(file.data)
    raise AssertionError("count() does not end")


def drawn_keys(tokens: NDArray[np.int64], random: np.random.Generator) -> WorkspaceKeys:
    """Keys as the default adapter's, of units with so many tokens."""
    units, total = len(tokens), int(tokens.sum())
    pooled = np.empty((units, 256), np.float16)
    for first in range(0, units, _PIECE):
        drawn = random.standard_normal((min(_PIECE, units - first), 256), np.float32)
        pooled[first : first + _PIECE] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    codes = np.frombuffer(random.bytes(64 * total), np.int8).reshape(total, 64)
    scales = np.full(total, 0.125 / 73, np.float16)
    arrays: dict[str, NDArray[Any]] = {"codes": codes, "scales": scales, "pooled": pooled}
    part = KeyPart(np.arange(units), np.cumsum([0, *tokens]), arrays)
    return WorkspaceKeys(tokens.astype(np.int32), (part,), missing_tokens=0)


class Timer:
    """Seconds of wall clock and of processor by name, several of each."""

    def __init__(self) -> None:
        self.found: dict[str, list[tuple[float, float]]] = {}

    def __call__(self, name: str, work: Callable[[], Any]) -> Any:
        """What `work` returns."""
        started, used = time.perf_counter(), time.process_time()
        value = work()
        self.found.setdefault(name, []).append((time.perf_counter() - started, time.process_time() - used))
        return value

    def figures(self) -> dict[str, dict[str, float]]:
        """Medians, the 95th percentile of wall clock, and the median of processor time, in milliseconds."""
        return {name: _figures(1000 * np.array(times)) for name, times in self.found.items()}


def _figures(times: NDArray[np.float64]) -> dict[str, float]:
    wall, used = times.T
    return {
        "p50": median(wall.tolist(), 2),
        "p95": round(float(np.percentile(wall, 95)), 2),
        "cpu": median(used.tolist(), 2),
    }


class ReadAhead:
    """A drafter that has read the questions: what is left is scoring."""

    def __init__(self, drafter: Drafter) -> None:
        self._drafter, self._states = drafter, dict[str, QuestionStates]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._drafter, name)

    def states_of(self, texts: Sequence[str], code: Any, cancellation: Cancellation) -> list[QuestionStates]:
        """As the drafter's, read once."""
        if not all(text in self._states for text in texts):
            self._states.update(zip(texts, self._drafter.states_of(texts, code, cancellation), strict=True))
        return [self._states[text] for text in texts]

    def score_each(self, arrays: Any, offsets: Any, texts: Sequence[str], cancellation: Cancellation) -> list[Any]:
        """As the drafter's, of questions that were read."""
        units = np.arange(len(offsets) - 1)
        states = self.states_of(texts, None, cancellation)
        return [self._drafter.score_units(arrays, offsets, units, one) for one in states]


def timed(workspace: Workspace, keys: WorkspaceKeys, drafter: Any, texts: Sequence[str], exhaustive: bool) -> Timer:
    """Every question, each part timed: reading it, searching, fusing, choosing."""
    timer, never = Timer(), Cancellation()
    weights = read_fusion_weights(drafter.fusion)
    search = TwoLevelSearch(workspace, keys, drafter)
    for text in texts:
        question = Question(text)
        timer("read the question", lambda: drafter.states_of([text, *subquestions_of(text)], None, never))  # noqa: B023
        ways: dict[str, Callable[[], AskedQuestion]] = {"two levels": lambda: search.ask(question, never)}  # noqa: B023
        if exhaustive:
            ways["every unit"] = lambda: ask_drafter(workspace, keys, drafter, question, never)  # noqa: B023
        for way, ask in ways.items():
            name = f"{way}, {len(subquestions_of(text)) or 1} asked"
            timer(name, lambda: _selected(timer, way, ask, keys, question, weights, drafter))  # noqa: B023
    return timer


def _selected(
    timer: Timer, way: str, ask: Callable[[], AskedQuestion], keys: Any, question: Question, weights: Any, drafter: Any
) -> None:
    asked = timer(f"{way}: search", ask)
    scores = timer(f"{way}: features, fusion", lambda: fuse(asked, weights))
    ranked = Ranked(question, asked.workspace, keys, keys.unit_tokens, scores, drafter)
    timer(f"{way}: choose", lambda: ranked.select(ranked.tokens(Budget())))


def timed_parts(units: int, drafter: Any, states: Sequence[QuestionStates], rounds: int = 7) -> Timer:
    """What the first level does with unit vectors, for one question and several, and MaxSim of as many candidates."""
    random, timer = np.random.default_rng(0), Timer()
    tokens = random.geometric(1 / _TOKENS_A_UNIT, units)
    held = drawn_keys(tokens, random)
    some = np.sort(random.choice(units, min(2000, units), replace=False))
    for _ in range(rounds):
        for asked in {1, len(states)}:
            scores = timer(
                f"unit vectors, {asked} asked",
                lambda: drafter.score_coarsely(held.arrays, held.offsets, states[:asked]),  # noqa: B023
            )
        timer("choosing the best", lambda: highest(scores["pooled"][0], Breadth().coarse))  # noqa: B023
        timer("moments", lambda: (scores["pooled"][0].mean(), scores["pooled"][0].std()))  # noqa: B023
        timer(f"MaxSim of {len(some):,}", lambda: drafter.score_units(held.arrays, held.offsets, some, states[0]))
    return timer


def options() -> argparse.Namespace:
    """The command line."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("repositories", nargs="*", metavar="REPOSITORY", default=["scrapy", "mongoose", "libuv"])
    parser.add_argument("--tokens", type=parse_size, default=10_000_000)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--exhaustive", action="store_true", help="also score every unit")
    parser.add_argument("--vectors", type=parse_size, help="time the parts that need no workspace, for so many tokens")
    parser.add_argument("--name", default="large-search", help="of the file in results/")
    return parser.parse_args()


def main() -> None:
    """Measure, print, write results/large-search.json."""
    given, drafter = options(), ReadAhead(Drafter(locate(DEFAULT_DRAFTER)))
    together = chosen(given.repositories, 0)
    texts = [one.text for repository in together for one in load(repository)][: given.questions]
    if given.vectors:
        units = given.vectors // _TOKENS_A_UNIT
        timer, size = timed_parts(units, drafter, drafter.states_of(texts[:4], None, Cancellation())), {"units": units}
    else:
        workspace = repeated(together, given.tokens)
        tokens = np.maximum(workspace.unit_bytes * TOKENS_PER_BYTE, 1).astype(np.int64)
        keys = drawn_keys(tokens, np.random.default_rng(0))
        size = {"tokens": keys.tokens, "files": len(workspace.files), "units": len(tokens)}
        timed(workspace, keys, drafter, texts[:2], given.exhaustive)  # tables are made once for a workspace
        timer = timed(workspace, keys, drafter, texts, given.exhaustive)
    report(given.name, {"drafter": drafter.place, **size, "ms": timer.figures()})


if __name__ == "__main__":
    main()

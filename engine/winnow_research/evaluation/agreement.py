"""Agreement of CPU and GPU: how often both keep the same code for the questions of the development split.

Of two processes one sees the GPU and one does not. Each computes everything from the files' text, and writes down
what it keeps.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from winnow_cuda.device import availability
from winnow_engine.core import Cancellation
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_engine.storage.store import Store
from winnow_research.evaluation.cases import Scene
from winnow_research.evaluation.corpus import Corpus, corpus_of
from winnow_research.evaluation.methods import all_methods
from winnow_research.evaluation.methods.base import Method, Ranking
from winnow_research.evaluation.repositories import Split
from winnow_research.evaluation.run import laid_out
from winnow_research.evaluation.tasks import all_tasks

_THIS = (sys.executable, "-m", "winnow_lsp", "bench", "agreement")
_METHODS = ("profile", "Winnow")
_TASKS = ("describe", "cursor", "usage", "doc", "multi")


def sides(tokens: int, questions: int, budget: int) -> dict[str, dict[str, Any]]:
    """What each side keeps. Both work at once. CalledProcessError if one fails."""
    asked = [f"--tokens={tokens}", f"--questions={questions}", f"--budget={budget}"]
    with tempfile.TemporaryDirectory() as folder:
        files = {side: Path(folder, f"{side}.json") for side in ("gpu", "cpu")}
        working = {}
        for side, out in files.items():
            hidden = {"CUDA_VISIBLE_DEVICES": ""} if side == "cpu" else {}
            working[side] = subprocess.Popen([*_THIS, *asked, "--write", str(out)], env=os.environ | hidden)
        for process in working.values():
            if process.wait():
                raise subprocess.CalledProcessError(process.returncode, process.args)
        return {side: json.loads(out.read_text()) for side, out in files.items()}


def write(out: Path, tokens: int, questions: int, budget: int) -> None:
    """Write what this process keeps for each method and question: the pieces with their tokens, and the best unit."""
    file = locate(DEFAULT_DRAFTER)
    corpus = corpus_of(Split.DEVELOPMENT, file, questions)
    methods = [method for method in all_methods(file) if method.name in _METHODS]
    kept: dict[str, list[Any]] = {method: [] for method in _METHODS}
    with tempfile.TemporaryDirectory() as folder, closing(Store(Path(folder, "index.sqlite"))) as store:
        for task in _TASKS:
            for number, scene in enumerate(all_tasks()[task].scenes(corpus, tokens)):
                for method, ranking in rankings(scene, Path(folder, task, str(number)), store, corpus, methods):
                    pieces = ranking.keep(budget)
                    lines = [(piece.unit, piece.start_line, piece.end_line, piece.tokens) for piece in pieces]
                    kept[method].append({"pieces": lines, "best": int(ranking.scores.argmax())})
    out.write_text(json.dumps({"backend": availability().reason, "kept": kept}))


def rankings(
    scene: Scene, root: Path, store: Store, corpus: Corpus, methods: list[Method]
) -> Iterator[tuple[str, Ranking]]:
    """The ranking of each method for each question, with the method's name."""
    if not scene.cases:
        return
    subject = laid_out(scene, root, store, corpus.count, Cancellation())
    for method in methods:
        ranker = method.ranker(subject)
        for case in scene.cases:
            yield method.name, ranker(case.question)


def compared(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The agreement of both sides, by method."""
    gpu, cpu = (found[side]["kept"] for side in ("gpu", "cpu"))
    return {method: _compared(gpu[method], cpu[method]) for method in _METHODS}


def _compared(gpu: list[Any], cpu: list[Any]) -> dict[str, Any]:
    """How often both sides keep the same, and what share of tokens they have in common."""
    pairs = list(zip(gpu, cpu, strict=True))
    shares = []
    for one, other in pairs:
        units = {tuple(piece): piece[3] for piece in one["pieces"]}
        common = sum(units.get(tuple(piece), 0) for piece in other["pieces"])
        shares.append(common / max(sum(units.values()), sum(piece[3] for piece in other["pieces"])))
    same = sum(one["pieces"] == other["pieces"] for one, other in pairs)
    return {
        "questions": len(pairs),
        "same_spans": same,
        "same_spans_percent": round(100 * same / len(pairs), 1),
        "same_tokens_percent": round(100 * sum(shares) / len(shares), 2),
        "same_best_unit": sum(one["best"] == other["best"] for one, other in pairs),
    }

"""Records what the product says of questions and what a reranker makes of it, to judge the reranker.

`record` asks the questions of a split and keeps, in one file each, what the product says of the units that lead and
what would be read of them. `read` has the engine run a reranker over that, as the product would on a GPU; on a CPU a
question takes minutes. `compare` adds its scores to the product's, with the weight that keeps most of the calibration
split, and needs no GPU.
"""

from __future__ import annotations

import json
import pickle
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from winnow_engine.core import Cancellation
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.template import Template
from winnow_engine.index.workspace import Workspace
from winnow_engine.keys.key_cache import KeyCache
from winnow_engine.keys.workspace_keys import WorkspaceKeys
from winnow_engine.models.cache import locate
from winnow_engine.models.gguf_header import read_header
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_engine.reranker.file import read_reranker
from winnow_engine.reranker.reranker import Reranker, load_reranker
from winnow_engine.reranker.reranking import readings, texts_of
from winnow_engine.selection.budget import worth
from winnow_engine.selection.fusion import fuse
from winnow_engine.selection.fusion_weights import read_fusion_weights
from winnow_engine.selection.scoring_input import ask_drafter
from winnow_engine.selection.workspace_units import WorkspaceUnits
from winnow_engine.storage.store import Store
from winnow_research.evaluation.cache import cache_path
from winnow_research.evaluation.cases import Case, Scene
from winnow_research.evaluation.corpus import Corpus, corpus_of
from winnow_research.evaluation.parallel import WorkItem
from winnow_research.evaluation.processes import spread
from winnow_research.evaluation.repositories import Split, repositories
from winnow_research.evaluation.run import laid_out
from winnow_research.evaluation.tasks import all_tasks
from winnow_research.training.reranker.judging import WAYS, Record, compared

_SPLITS = (Split.CALIBRATION, Split.DEVELOPMENT)
_TOKENS = 128_000  # of a workspace, for tasks made by rule
_ASKED = {"describe": 14, "multi": 14, "bug": 12, "doc": 12, "phrase": 6, "cursor": 5, "usage": 5}  # of a repository
_TASKS = ("real", "languages", *_ASKED)
_BEST = 600
_NEVER = Cancellation()


@dataclass
class Recorder:
    """Records the questions of scenes."""

    corpus: Corpus
    cache: KeyCache
    store: Store

    def of_item(self, item: WorkItem) -> list[Record]:
        """The questions of a task about one repository."""
        corpus = replace(self.corpus, asked=item.repository, questions=_ASKED.get(item.task, 0))
        scenes = all_tasks()[item.task].scenes(corpus, item.tokens)
        return [one for scene in scenes if scene.cases for one in self._of_scene(scene)]

    def _of_scene(self, scene: Scene) -> Iterator[Record]:
        with tempfile.TemporaryDirectory() as folder:
            workspace = laid_out(scene, Path(folder), self.store, self.corpus.count, _NEVER).workspace
            keys = self.cache.of(workspace, lambda _: None, _NEVER)
            for case in scene.cases:
                if case.golds:
                    yield self._recorded(workspace, keys, case)

    def _recorded(self, workspace: Workspace, keys: WorkspaceKeys, case: Case) -> Record:
        drafter = self.cache.drafter
        asked = ask_drafter(workspace, keys, drafter, workspace.located(case.question), _NEVER)
        first, parts = fuse(asked, read_fusion_weights(drafter.fusion)), len(asked.subquestions)
        each = {way: list(readings(asked, first, keys.unit_tokens, way)) for way in WAYS}
        read = {way: [some for _, some in questions] for way, questions in each.items()}
        best = np.argsort(-worth(first.total, keys.unit_tokens, parts), kind="stable")[:_BEST]
        cursor = case.question.cursor
        focus = WorkspaceUnits(workspace, keys.unit_tokens, drafter.count).focus(cursor) if cursor else None
        pointed = [*focus.units, *focus.companions] if focus else []
        shown = np.unique(np.concatenate([units for some in read.values() for units in some]))
        units = np.unique(np.concatenate([best, np.array(pointed, np.int64), shown]))
        place = {int(unit): number for number, unit in enumerate(units)}
        golds = {unit for gold in case.golds for unit in workspace.units_at(gold)}
        return Record(
            case.task,
            case.repository,
            parts,
            tuple(drafter.template.question(one.text, one.question.code).ids for one, _ in each[WAYS[0]]),
            first.total[units],
            None if first.log_shares is None else first.log_shares[:, np.searchsorted(first.units, units)],
            keys.unit_tokens[units],
            np.array(sorted(place.get(unit, -1) for unit in golds), np.int64),
            tuple(place[unit] for unit in focus.units) if focus else (),
            tuple(place[unit] for unit in focus.companions) if focus else (),
            {way: [np.searchsorted(units, some) for some in parts_of] for way, parts_of in read.items()},
            dict(zip((place[unit] for unit in shown.tolist()), texts_of(workspace, shown, drafter), strict=True)),
        )


def _scored(reranker: Reranker, records: Sequence[Record]) -> dict[int, Any]:
    """Have a reranker score what each record's ways read, into `said`. By way, the time of a question of *real*."""
    figures = {}
    for way in WAYS:
        times, tokens = [], []
        for record in records:
            texts = [[record.texts[place] for place in places.tolist()] for places in record.ways[way]]
            started = time.perf_counter()
            laid = [reranker.segments(*one) for one in zip(record.questions, texts, strict=True)]
            record.said[way] = [reranker.scores(segments, _NEVER) for segments in laid]
            if record.task == "real":
                times.append(time.perf_counter() - started)
                tokens.append(sum(len(segment) for segments in laid for segment in segments))
        warm = times[1:] or times or [0.0]  # kernels are compiled before the first
        ms = [round(1000 * float(np.percentile(warm, share)), 1) for share in (50, 90)]
        figures[way] = {"ms": ms, "tokens read": round(float(np.mean(tokens or [0])))}
    return figures


def record(folder: Path, jobs: int) -> None:
    """Write what the product says of the questions of both splits; a split that was recorded is left alone."""
    for split in _SPLITS:
        started, path = time.perf_counter(), folder / f"records-{split}.pickle"
        if path.is_file():
            continue
        start = partial(_opened, split)
        with spread(jobs, _here(start), start) as ask:
            found = [one for some in ask(Recorder.of_item, list(_items(split))) for one in some]
        path.write_bytes(pickle.dumps(found))
        print(f"{split}: {len(found)} questions, {time.perf_counter() - started:.0f} s", flush=True)


def read(folder: Path, file: Path, model: Path, name: str) -> None:
    """Have the engine score what was recorded with a reranker, and write that under a name."""
    from winnow_engine.llama.model import LlamaModel
    from winnow_engine.llama.vocabulary import Vocabulary

    prefix = Template(Vocabulary(LlamaModel(model, vocabulary_only=True))).prefix
    reranker = load_reranker(model, read_reranker(file, read_header(model)), prefix)
    for split in _SPLITS:
        started = time.perf_counter()
        records = pickle.loads((folder / f"records-{split}.pickle").read_bytes())
        figures = {"seconds": _scored(reranker, records), "questions": len(records)}
        slim = [replace(one, texts={}, questions=()) for one in records]
        (folder / f"{name}-{split}.pickle").write_bytes(pickle.dumps(slim))
        print(json.dumps({"split": split, **figures, "whole": round(time.perf_counter() - started)}), flush=True)


def compare(folder: Path, name: str) -> list[dict[str, Any]]:
    """What `compared` says of a reranker's scores for the splits of calibration and development."""
    return compared(*(pickle.loads((folder / f"{name}-{split}.pickle").read_bytes()) for split in _SPLITS))


def _items(split: Split) -> Iterator[WorkItem]:
    for task in _TASKS:
        size = _TOKENS if all_tasks()[task].sized else 0
        yield from (WorkItem(task, size, one.name) for one in repositories(split, None if task in _ASKED else task))


def _opened(split: Split) -> Recorder:
    file, store = locate(DEFAULT_DRAFTER), Store(cache_path())
    return Recorder(corpus_of(split, file, questions=0), KeyCache(store, Drafter(file)), store)


@contextmanager
def _here(start: Any) -> Iterator[Any]:
    yield start()

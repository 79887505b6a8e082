"""What does the host do while a device waits? Each stage's tokens a second on one core, then all stages together.

The encoder is one that takes no time and gives zeros: what is left is walking, reading, parsing, counting words,
tokenising, packing, sorting keys by file and storing them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import numpy as np

from winnow_cuda.shapes import Batch, Int32, Keys
from winnow_engine.assistant import Assistant
from winnow_engine.core import Cancellation, Folder, ignore_progress
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.drafter.encoding import FileEncoder, FileKeys, FileText
from winnow_engine.drafter.profiles import open_profile
from winnow_engine.drafter.segments import batch_of, cut_ids, pack, runs_of
from winnow_engine.drafter.template import Template
from winnow_engine.drafter.weights import GgufTensors, shape_of
from winnow_engine.index.analysts import Analysts
from winnow_engine.index.files import scan
from winnow_engine.index.records import analysed, units_of
from winnow_engine.index.workspace import Sources
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.models.cache import locate
from winnow_engine.models.gguf_header import read_header
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_engine.runtime import Stages
from winnow_engine.store import Store
from winnow_engine.system import physical_cores
from winnow_research.machine import report
from winnow_research.studies import study_parser

_BATCH_TOKENS = 32768


class Instant:
    """An encoder on a device that needs no time."""

    batch_tokens, parallel = _BATCH_TOKENS, False

    def encode_keys(self, batch: Batch, runs: Int32, _: Callable[[], None] | None = None) -> Keys:
        """Zeros for every row of the runs."""
        rows = int((runs[:, 1] - runs[:, 0]).sum())
        return Keys(np.zeros((rows, 64), np.int8), np.ones(rows, np.float32), np.ones((len(runs), 256), np.float32))


class InstantDrafter:
    """The default drafter's vocabulary and profile around an instant encoder."""

    identity, place, notice = "instant", "resident", None

    def __init__(self) -> None:
        path = locate(DEFAULT_DRAFTER)
        header = read_header(path)
        tensors = GgufTensors(path, header)
        profile = open_profile(tensors, shape_of(header, 1), header.block_count, shipped_only=True).profile
        self.vocabulary = Vocabulary(LlamaModel(path, vocabulary_only=True))
        self.template = Template(self.vocabulary)
        encoder = cast(Any, Instant())
        cores = physical_cores()
        self._files = FileEncoder(self.vocabulary, self.template, encoder, profile, 2, max(cores - 1, 1))

    def count(self, text: str) -> int:
        """Tokens of `text`."""
        return len(self.vocabulary.tokenize(text))

    def encode(self, files: Iterable[FileText], cancellation: Cancellation, stages: Stages) -> Iterator[FileKeys]:
        """As `Drafter.encode`."""
        return self._files.encode(files, cancellation, stages)


def alone(root: Path, drafter: InstantDrafter) -> dict[str, float]:
    """Processor seconds of each stage, one after the other, and `tokens`."""
    seconds: dict[str, float] = {}

    def timed(stage: str, work: Callable[[], Any]) -> Any:
        started = time.process_time()
        found = work()
        seconds[stage] = time.process_time() - started
        return found

    files = timed("read", lambda: list(scan(root)))
    records = timed("analyse", lambda: [analysed(file.path, file.data) for file in files])
    units = [units_of(record["units"], [""] * len(record["units"])) for record in records]
    texts = [
        [file.data[unit.start_byte : unit.end_byte].decode("utf-8", "replace") for unit in of_file]
        for file, of_file in zip(files, units, strict=True)
    ]
    tokens = timed("tokenise", lambda: [drafter.vocabulary.tokenize_each(one) for one in texts])
    headers = [drafter.template.header(file.path) for file in files]
    cuts = timed("cut", lambda: [cut_ids(0, header, *one) for header, one in zip(headers, tokens, strict=True)])
    segments = [segment for one in cuts for segment in one]
    timed("pack", lambda: [(batch_of(group, 0), runs_of(group)) for group in pack(segments, _BATCH_TOKENS)])
    return seconds | {"tokens": float(sum(len(ids) for ids, _ in tokens))}


def together(root: Path, drafter: InstantDrafter, workers: int) -> dict[str, Any]:
    """The index of a folder made from nothing, with processes that are there already: seconds and busy shares."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Store(Path(folder, "index.sqlite"))) as store,
        closing(Analysts(workers)) as analysts,
    ):
        analysts.start()
        warm = (("a.py", b"x = 1\n" * 30) for _ in range(1000 * workers))
        list(analysts.analysed(warm, 1_000_000, Cancellation(), Stages()))
        assistant = Assistant(store, lambda: cast(Drafter, drafter), analysts=analysts)
        assistant.keys.wait_for(Cancellation())
        stages, started, processor = Stages(), time.perf_counter(), time.process_time()
        assistant.index(Sources((Folder(root),)), ignore_progress, None, stages)
        wall, spent = time.perf_counter() - started, time.process_time() - processor
        assistant.close()
        return {"wall_s": wall, "this_process_s": spent, "stages": _rounded(stages)}


def _rounded(stages: Stages) -> dict[str, dict[str, float]]:
    return {
        stage: {name: round(value, 4) for name, value in asdict(busy).items()}
        for stage, busy in stages.report().items()
    }


def main() -> None:
    """Measure, print and write results/host.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("root", type=Path, help="a folder with code")
    parser.add_argument("--workers", type=int, default=physical_cores(), help="parsing processes")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    drafter = InstantDrafter()
    alone(options.root, drafter)  # grammars load, the disk's cache fills
    seconds = alone(options.root, drafter)
    tokens = seconds.pop("tokens")
    runs = [together(options.root, drafter, options.workers) for _ in range(options.repeat)]
    figures = {
        "tokens": int(tokens),
        "workers": options.workers,
        "core_ns_a_token": {stage: round(one / tokens * 1e9, 1) for stage, one in seconds.items()},
        "tokens_per_s_together": [round(tokens / run["wall_s"]) for run in runs],
        "this_process_ns_a_token_together": [round(run["this_process_s"] / tokens * 1e9, 1) for run in runs],
        "together": runs,
    }
    report("host", figures)


if __name__ == "__main__":
    main()

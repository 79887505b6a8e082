"""The drafter as the engine sees it: files in, arrays to cache out; a question in, scores of units out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from winnow_cuda.backends import matrix_form, open_encoder, warm_up
from winnow_cuda.blas_threads import one_blas_thread
from winnow_cuda.shapes import Encoded, Float16, Float32, Int64
from winnow_engine.core import Cancellation
from winnow_engine.encoder.adapter import unit_length
from winnow_engine.encoder.file_encoder import FileEncoder, FileKeys, FileText
from winnow_engine.encoder.kernel_cache import default_folder
from winnow_engine.encoder.merged_weights import MergedWeights, name_of
from winnow_engine.encoder.merged_weights import default_folder as weights_folder
from winnow_engine.encoder.profile import Arrays, QuestionStates, TwoLevelProfile
from winnow_engine.encoder.profiles import OpenedProfile, open_profile
from winnow_engine.encoder.segments import question_batch
from winnow_engine.encoder.template import Template
from winnow_engine.encoder.weights import GgufTensors, load_weights, shape_of
from winnow_engine.errors import UnsupportedModelError
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.models.gguf_header import read_header
from winnow_engine.platform import physical_cores
from winnow_engine.question import CodeAtCursor


class Drafter:
    """A GGUF's first layers and the profile that turns them into scores. Safe to use from several threads."""

    def __init__(self, path: Path, profile: OpenedProfile | None = None, threads: int | None = None) -> None:
        """Load `path`, with a profile in place of its own if one is given. Raises ModelError, ProfileError."""
        header, self.path, self._gave_up = read_header(path), path, False
        tensors = GgufTensors(path, header)
        # A second thread of BLAS mostly waits. llama.cpp reads the vocabulary (0.4 s) beside the rest.
        with one_blas_thread(), ThreadPoolExecutor(2) as pool:
            warm = pool.submit(warm_up)  # seconds, once for a machine
            vocabulary = pool.submit(lambda: Vocabulary(LlamaModel(path, vocabulary_only=True)))
            opened = profile or open_profile(tensors, shape_of(header, 1), header.block_count)
            self._profile, self.fusion, self.notice = opened.profile, opened.fusion, opened.notice
            self.reranker = opened.reranker  # the profile's, which `winnow_engine.reranker` opens
            self.identity = tensors.identity(opened.profile.layers, opened.profile.identity)  # of what is kept on disk
            form = matrix_form()
            kept = None if profile else MergedWeights(weights_folder(), name_of(self.identity, form))
            weights = load_weights(path, header, opened.profile.layers, opened.profile.merge, kept, form)
            warm.result()
            self.vocabulary = vocabulary.result()
            self.template = Template(self.vocabulary)
            weights = replace(weights, readout=opened.profile.readout)
            self._encoder = open_encoder(weights, self.template.prefix, default_folder(), self._notify)
        self._files = self._file_encoder(threads)

    @property
    def place(self) -> str:
        """`resident` on the GPU, or `cpu`, also after the GPU has failed."""
        return "cpu" if self._encoder.parallel or self._gave_up else "resident"

    def count(self, text: str) -> int:
        """Tokens of `text`."""
        return len(self.vocabulary.tokenize(text))

    def encode(
        self,
        files: Iterable[FileText],
        cancellation: Cancellation,
        fixed_batches: bool = False,
    ) -> Iterator[FileKeys]:
        """The keys of each file, in order, each as soon as its last segment is done; see `FileEncoder.encode`."""
        return self._files.encode(files, cancellation, fixed_batches)

    def text_vectors(self, texts: Sequence[str], cancellation: Cancellation) -> tuple[Float32, int]:
        """Unit vectors of texts, float32 [N, columns], and all tokens. UnsupportedModelError without an adapter."""
        vectors, tokens = list[Float16](), 0
        files = (FileText("", (text,)) for text in texts)
        for keys in self.encode(files, cancellation, fixed_batches=True):
            if "pooled" not in keys.arrays:
                raise UnsupportedModelError(f"{self.path.stem} makes no vectors of texts: use the default drafter")
            vectors.append(keys.arrays["pooled"][0])
            tokens += int(keys.unit_tokens.sum())
        return unit_length(np.stack(vectors).astype(np.float32)), tokens

    def score(
        self,
        arrays: Arrays,
        unit_offsets: Int64,
        questions: Sequence[str],
        code: CodeAtCursor | None,
        cancellation: Cancellation,
    ) -> list[dict[str, Float32]]:
        """For each question, about the same code if any, the scores by name, float32 [U] each.

        Unit u is rows unit_offsets[u]:unit_offsets[u+1] of the arrays. The questions are read in one batch.
        """
        states = self.states_of(questions, code, cancellation)
        return [self._profile.score(arrays, unit_offsets, one) for one in states]

    @property
    def two_levels(self) -> TwoLevelProfile | None:
        """The profile if it has two levels: all units roughly, then some alone, both from `states_of`; else None."""
        return self._profile if isinstance(self._profile, TwoLevelProfile) else None

    def states_of(
        self, questions: Sequence[str], code: CodeAtCursor | None, cancellation: Cancellation
    ) -> list[QuestionStates]:
        """The states of questions about the same code, if any; they are read in one batch. Raises CancelledError."""
        asked = [self.template.question(text, code) for text in questions]
        nulls = self.template.null_questions(code) if self._profile.taps else []
        questions_read = [*asked, *nulls]
        batch = question_batch([one.ids for one in questions_read], len(self.template.prefix))
        encoded = self._encoder.encode(batch, self._profile.taps, cancellation.check)
        rows = [slice(int(start), int(end)) for start, end in pairwise(batch.offsets)]
        states = [QuestionStates(_part(encoded, at), one.body) for at, one in zip(rows, questions_read, strict=True)]
        return [replace(one, nulls=tuple(states[len(asked) :])) for one in states[: len(asked)]]

    def _notify(self, notice: str) -> None:
        self._gave_up = True
        self.add_notice(notice)

    def add_notice(self, notice: str) -> None:
        """Add to `notice`, the sentence for the user."""
        self.notice = notice if self.notice is None else f"{self.notice}; {notice}"

    def _file_encoder(self, threads: int | None) -> FileEncoder:
        """A device takes one batch at a time; meanwhile a second thread prepares the next, all others tokenise."""
        on_cpu, cores = self._encoder.parallel, physical_cores()
        return FileEncoder(
            self.vocabulary,
            self.template,
            self._encoder,
            self._profile,
            threads or (cores if on_cpu else 2),
            1 if on_cpu else max(cores - 1, 1),
        )


def _part(encoded: Encoded, rows: slice) -> Encoded:
    queries, keys = ({layer: of[rows] for layer, of in states.items()} for states in (encoded.queries, encoded.keys))
    return Encoded(encoded.hidden[rows], queries, keys)

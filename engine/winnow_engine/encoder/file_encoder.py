"""Files in, keys out. Threads tokenise files ahead of the encoder, which needs no GIL, and others run batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from winnow_cuda.blas_threads import one_blas_thread
from winnow_cuda.shapes import Batch, Encoder, Int32
from winnow_engine.core import Cancellation
from winnow_engine.encoder.profile import Arrays, Profile, ReadArrays, joined
from winnow_engine.encoder.segments import Segment, batch_of, cut_ids, evened, pack, runs_of
from winnow_engine.encoder.template import Template
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.runtime import FairLock, mapped_ahead

_AHEAD_BATCHES = 4  # of text that is tokenised before the encoder asks for it
_BYTES_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class FileText:
    """A file to encode: its path and the text of each unit, in order."""

    path: str
    units: tuple[str, ...]

    @property
    def characters(self) -> int:
        """The length of all units together."""
        return sum(map(len, self.units))


@dataclass(frozen=True, slots=True)
class FileKeys:
    """The cached keys of a file: tokens by unit (int32 [U]) and the profile's arrays."""

    unit_tokens: Int32
    arrays: Arrays


@dataclass(slots=True)
class _Pending:
    """A file whose segments are being encoded, in any order. `missing` counts its tokens that are still to come."""

    unit_tokens: Int32
    missing: int
    parts: list[tuple[Segment, ReadArrays]] = field(default_factory=list)

    def add(self, segment: Segment, read: ReadArrays) -> None:
        self.parts.append((segment, read))
        self.missing -= len(segment.ids)


@dataclass(slots=True)
class FileEncoder:
    """Encodes files with one encoder and one profile. On the CPU `threads` run a batch each, with a BLAS of one thread.

    `tokenisers` is the number of threads that turn text into tokens. Of several callers, each has its next batches
    encoded in turn, so that together they take no more cores and memory than one.
    """

    vocabulary: Vocabulary
    template: Template
    encoder: Encoder
    profile: Profile
    threads: int
    tokenisers: int
    _lock: FairLock = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._lock = FairLock(self.threads)

    def encode(
        self, files: Iterable[FileText], cancellation: Cancellation, fixed_batches: bool = False
    ) -> Iterator[FileKeys]:
        """The keys of each file, in order, each as soon as its last segment is done.

        Segments of many files share a batch. With `fixed_batches` the files alone decide which ones do, not the number
        of cores; a few codes in a million depend on that. Raises CancelledError, within the time of a layer.
        """
        pending: dict[int, _Pending] = {}
        done = 0
        with (
            one_blas_thread(),
            ThreadPoolExecutor(self.threads) as runners,
            ThreadPoolExecutor(self.tokenisers) as cutters,
        ):
            groups = self._groups(cutters, files, pending)
            if self.encoder.parallel and not fixed_batches:
                groups = evened(groups, self.threads)

            def read(group: list[Segment]) -> ReadArrays:
                with self._lock.held(cancellation):
                    batch = batch_of(group, first_position=len(self.template.prefix))
                    return self.profile.read(self.encoder, batch, runs_of(group), cancellation.check)

            for group, found in mapped_ahead(runners, read, _checked(groups, cancellation), self.threads):
                for segment, part in _dealt(group, found):
                    pending[segment.file].add(segment, part)
                while done in pending and pending[done].missing == 0:
                    yield self._finish(pending.pop(done))
                    done += 1
        while done in pending:
            yield self._finish(pending.pop(done))
            done += 1

    def _groups(
        self, cutters: ThreadPoolExecutor, files: Iterable[FileText], pending: dict[int, _Pending]
    ) -> Iterator[list[Segment]]:
        """Batches of segments. The files that these belong to, and those without any, are `pending` by then."""
        ahead = _AHEAD_BATCHES * self.encoder.batch_tokens * _BYTES_A_TOKEN

        def tokenised(numbered: tuple[int, FileText]) -> tuple[Int32, list[Segment]]:
            number, file = numbered
            ids, counts = self.vocabulary.tokenize_each(file.units)
            return counts, cut_ids(number, self.template.header(file.path), ids, counts)

        def segments() -> Iterator[Segment]:
            cuts = mapped_ahead(cutters, tokenised, enumerate(files), ahead, lambda numbered: numbered[1].characters)
            for (number, _), (counts, found) in cuts:
                pending[number] = _Pending(counts, int(counts.sum()))
                yield from found

        return pack(segments(), self.encoder.batch_tokens)

    def _finish(self, file: _Pending) -> FileKeys:
        parts = sorted(file.parts, key=lambda part: part[0].start)
        units = np.concatenate([np.empty(0, np.int32), *(segment.units for segment, _ in parts)])
        read = joined([read for _, read in parts] or [self._read_nothing()])
        return FileKeys(file.unit_tokens, self.profile.keep(read, units, len(file.unit_tokens)))

    def _read_nothing(self) -> ReadArrays:
        none = np.empty(0, np.int32)
        return self.profile.read(self.encoder, Batch(none, none, np.array([0])), none.reshape(0, 2), lambda: None)


def _checked(groups: Iterator[list[Segment]], cancellation: Cancellation) -> Iterator[list[Segment]]:
    for group in groups:
        cancellation.check()
        yield group


def _dealt(group: list[Segment], read: ReadArrays) -> Iterator[tuple[Segment, ReadArrays]]:
    token = run = 0
    for segment in group:
        tokens, runs = slice(token, token + len(segment.ids)), slice(run, run + len(segment.units))
        yield segment, read.part(tokens, runs)
        token, run = tokens.stop, runs.stop

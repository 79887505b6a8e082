"""Plain decoding against each draft, in turns on one context, with a check that answers stay the same.

To roll back, recurrent memory has to keep past states in every pass. Plain decoding does not pay for that in the
product (`--speculate off`), so here it has a context of its own that keeps none. The drafts' figures include the cost.

If a drafted answer differs from the plain one, the gap between the logits of the first two tokens that differ says
whether that was a near tie, which the size of a batch decided, or a mistake. The logits are those of plain decoding.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from winnow_engine.config import TargetOptions
from winnow_engine.core import Cancellation, Prompt, Sampling, ignore
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.context import LlamaContext
from winnow_engine.llama.kv_cache import KvCache, common_prefix
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.prompting.messages import Message
from winnow_engine.targets.drafts.base import MOST_NODES, Draft, NoDraft
from winnow_engine.targets.local.chat_template import CHATML, ChatTemplate
from winnow_engine.targets.local.decoding import DecodedAnswer, decode

PLAIN = "off"
_N_CTX = 8192


@dataclass(frozen=True, slots=True)
class TimedDecoding:
    """One answer from its first token on: `seconds` of wall clock, `cpu_seconds` of all threads of this process.

    `gap` is None if its tokens are those of plain decoding, else the gap of the logits where they first differ.
    """

    load: str
    draft: str
    tokens: int
    seconds: float
    cpu_seconds: float
    rounds: int
    drafted: int
    accepted: int
    gap: float | None


@dataclass(frozen=True, slots=True)
class DraftFigure:
    """A draft on a load, over all answers. `ratio` is the median speed-up of an answer over its plain decoding.

    `work_ratio` is the same by processor time, which other work on the machine disturbs less. Use it with one thread,
    because several threads wait for each other by spinning.
    """

    load: str
    draft: str
    answers: int
    tokens: int
    tokens_per_s: float
    ratio: float
    lowest_ratio: float
    work_ratio: float
    tokens_per_round: float
    drafted: int
    accepted: int
    different: int
    widest_gap: float | None


class DecodeBench:
    """A target with some drafts. Not thread-safe. `close` frees the model but not the drafts."""

    def __init__(self, model: LlamaModel, drafts: Mapping[str, Draft], options: TargetOptions) -> None:
        """Each prompt will be decoded plainly first, then with each of `drafts`."""
        self._model = model
        self._drafts = {PLAIN: NoDraft(), **drafts}
        self._vocabulary = Vocabulary(model)
        self._template = ChatTemplate(model.chat_template or CHATML, self._vocabulary.special_texts())
        n_ctx = min(_N_CTX, model.context_limit)
        self._cache = KvCache(LlamaContext(model, n_ctx, options, MOST_NODES))
        self._plain = KvCache(LlamaContext(model, n_ctx, options)) if model.keeps_states else self._cache
        self._checkpoint = np.empty(0, np.int32), np.empty(0, np.uint8)

    def answers(
        self, load: str, messages: Sequence[Message], sampling: Sampling, cancellation: Cancellation
    ) -> Iterator[TimedDecoding]:
        """The answers to one prompt, with each draft. Raises CancelledError."""
        prompt = self._template.tokenize(messages, self._vocabulary).tokens
        plain: list[int] = []
        for name, draft in self._drafts.items():
            cancellation.check()
            answer, seconds, worked = self._answer(self._cache_of(name), prompt, draft, sampling)
            plain = plain or answer.tokens
            gap = self._gap(prompt, plain, answer.tokens)
            counts = answer.rounds, answer.drafted, answer.accepted
            yield TimedDecoding(load, name, len(answer.tokens), seconds, worked, *counts, gap)

    def close(self) -> None:
        """Free the contexts and the model."""
        for cache in {self._cache, self._plain}:
            cache.context.close()
        self._model.close()

    def _cache_of(self, draft: str) -> KvCache:
        return self._plain if draft == PLAIN else self._cache

    def _answer(
        self, cache: KvCache, prompt: Prompt, draft: Draft, sampling: Sampling
    ) -> tuple[DecodedAnswer, float, float]:
        """The answer, its seconds of wall clock, and its seconds of processor time."""
        self._read(cache, prompt)
        answer = DecodedAnswer(ignore)
        draft.begin(prompt, AbortFlag())
        worked, started = time.process_time(), time.perf_counter()
        decode(answer, cache, self._vocabulary, sampling, draft)
        return answer, time.perf_counter() - started, time.process_time() - worked

    def _read(self, cache: KvCache, prompt: Prompt) -> None:
        """Make `cache` hold `prompt`, with the logits behind it."""
        if self._model.keeps_states:
            self._bring_back(cache, prompt[:-1])
        cache.reuse(prompt)
        cache.prefill(prompt)

    def _bring_back(self, cache: KvCache, start: Prompt) -> None:
        """Make recurrent memory, which cannot forget an answer, hold `start`: read it once, then copy its state."""
        if np.array_equal(start, self._checkpoint[0]):
            cache.restore(*self._checkpoint)
            return
        cache.rewind(0)
        cache.prefill(start)
        self._checkpoint = start, cache.context.state()

    def _gap(self, prompt: Prompt, plain: list[int], drafted: list[int]) -> float | None:
        at = common_prefix(np.array(plain), np.array(drafted))
        if at == len(plain) == len(drafted):
            return None
        self._read(self._plain, prompt)
        for token in plain[:at]:
            self._plain.extend(np.array([token], np.int32), want_logits=True)
        logits = self._plain.context.logits()
        return float(abs(logits[plain[at]] - logits[drafted[at]]))


def figures(timed: Sequence[TimedDecoding]) -> Iterator[DraftFigure]:
    """A figure for each load and draft. Answers of one token do not count: no round produced them."""
    for load, draft in dict.fromkeys((one.load, one.draft) for one in timed):
        own = [one for one in timed if (one.load, one.draft) == (load, draft)]
        plain = [one for one in timed if (one.load, one.draft) == (load, PLAIN)]
        pairs = [(one, base) for one, base in zip(own, plain, strict=True) if one.rounds and base.rounds]
        if pairs:
            yield _figure(pairs)


def _figure(pairs: Sequence[tuple[TimedDecoding, TimedDecoding]]) -> DraftFigure:
    own = [one for one, _ in pairs]
    ratios = [_per_token(base, base.seconds) / _per_token(one, one.seconds) for one, base in pairs]
    work = [_per_token(base, base.cpu_seconds) / _per_token(one, one.cpu_seconds) for one, base in pairs]
    gaps = [one.gap for one in own if one.gap is not None]
    made, rounds = sum(one.tokens - 1 for one in own), sum(one.rounds for one in own)
    return DraftFigure(
        load=own[0].load,
        draft=own[0].draft,
        answers=len(own),
        tokens=sum(one.tokens for one in own),
        tokens_per_s=made / sum(one.seconds for one in own),
        ratio=statistics.median(ratios),
        lowest_ratio=min(ratios),
        work_ratio=statistics.median(work),
        tokens_per_round=made / rounds,
        drafted=sum(one.drafted for one in own),
        accepted=sum(one.accepted for one in own),
        different=len(gaps),
        widest_gap=max(gaps, default=None),
    )


def _per_token(one: TimedDecoding, seconds: float) -> float:
    return seconds / (one.tokens - 1)

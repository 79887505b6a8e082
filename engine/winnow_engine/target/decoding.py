"""The decode loop: sample, show, evaluate, until something ends the answer."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np

from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.target.base import Finish, Sampling, TextSink
from winnow_engine.target.kv import KvCache
from winnow_engine.target.sampler import Sampler
from winnow_engine.target.text import TextStream


@dataclass(slots=True)
class Answer:
    """One answer as it grows.

    `tokens` counts every sampled token, the one that ends the answer too; `first_token_at` is a
    `time.perf_counter` reading, None as long as there is no token.
    """

    on_text: TextSink
    finish: Finish = "cancelled"
    tokens: int = 0
    first_token_at: float | None = None
    _shown: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All that was shown so far."""
        return "".join(self._shown)

    def count_token(self) -> None:
        """Note that a token was sampled now."""
        self.first_token_at = self.first_token_at or time.perf_counter()
        self.tokens += 1

    def show(self, text: str) -> None:
        """Pass `text` on, unless there is nothing to show."""
        if text:
            self._shown.append(text)
            self.on_text(text)


def decode(answer: Answer, cache: KvCache, vocabulary: Vocabulary, sampling: Sampling) -> None:
    """Fill `answer` from the prompt in `cache`, whose last evaluation asked for logits.

    All sampled tokens but the last are in `cache` afterwards.
    """
    stream = TextStream(sampling.stop)
    with closing(Sampler(sampling)) as sampler:
        while True:
            token = sampler.sample(cache.context)
            answer.count_token()
            ended = vocabulary.is_end(token)
            if not ended:
                answer.show(stream.feed(vocabulary.piece(token)))
            if finish := _finish(ended, stream.stopped, answer.tokens == sampling.max_tokens):
                answer.finish = finish
                break
            if not cache.extend(np.array([token], np.int32), want_logits=True):
                break
    answer.show(stream.flush())


def _finish(ended: bool, stopped: bool, full: bool) -> Finish | None:
    return "eos" if ended else "stop" if stopped else "length" if full else None

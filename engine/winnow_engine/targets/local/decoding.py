"""The decode loop: propose, verify, show, until something ends the answer.

Every token of an answer is chosen from the target's own logits behind all tokens before it, drafted or not: the
likeliest token at temperature 0, else one drawn at random. A drafted node is kept where it is that choice. For a draft
that proposes its tokens without randomness this is speculative rejection sampling (arXiv 2211.17192): a token of
probability p is kept with probability p, and otherwise replaced by a draw from the rest. As many random numbers are
drawn as without a draft.

A thought is decoded like any text. One that has become too long, or that the model would end its answer in, is ended by
the closing marker of its family, and the model goes on behind that.
"""

from __future__ import annotations

import ctypes
import time
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Finish, Sampling, TextSink
from winnow_engine.llama.context import LlamaContext
from winnow_engine.llama.draft_tree import ROOT, DraftTree
from winnow_engine.llama.kv_cache import KvCache
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.targets.drafts.base import Draft
from winnow_engine.targets.local.grammar import AnswerGrammar
from winnow_engine.targets.text_stream import TextStream, ThoughtStream

_MOST_ENDINGS = 3  # of thoughts, from outside; a model that begins to think once more is stopped


@dataclass(slots=True)
class DecodedAnswer:
    """An answer as it grows.

    `tokens` begin with `thought_tokens` of a thought, `cut_off` at its limit. `rounds` followed the prompt's:
    `drafted` tokens were proposed for them, `accepted` chosen. `first_token_at` is a `time.perf_counter` reading.
    """

    on_text: TextSink
    finish: Finish = "cancelled"
    tokens: list[int] = field(default_factory=list)
    thought_tokens: int = 0
    cut_off: bool = False
    first_token_at: float | None = None
    rounds: int = 0
    drafted: int = 0
    accepted: int = 0
    _shown: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text shown so far."""
        return "".join(self._shown)

    def add(self, token: int) -> None:
        """Record that `token` was chosen now."""
        self.first_token_at = self.first_token_at or time.perf_counter()
        self.tokens.append(token)

    def show(self, text: str) -> None:
        """Pass `text` on, unless it is empty."""
        if text:
            self._shown.append(text)
            self.on_text(text)


def decode(
    answer: DecodedAnswer,
    cache: KvCache,
    vocabulary: Vocabulary,
    sampling: Sampling,
    draft: Draft,
    thoughts: ThoughtStream | None = None,
    thought_limit: int = 0,
    grammar: AnswerGrammar | None = None,
) -> None:
    """Decode `answer` behind the prompt in `cache`, which has logits, with `draft` begun and at most `thought_limit`.

    `grammar` must share `thoughts`. Afterwards `cache` holds all tokens but the last, and perhaps drafted ones.
    """
    writer, prompt, accepted = _Writer(answer, vocabulary, sampling, thoughts, thought_limit), cache.tokens, 0
    with closing(Sampler(sampling, grammar)) as sampler, sampler.sampled(cache.context):
        goes_on = writer.write(sampler.sample(cache.context))
        while goes_on:
            if writer.overthinks:
                writer.end_thought()
                if not cache.hold(np.array([*prompt, *answer.tokens], np.int32)):
                    break
                goes_on = writer.write(sampler.sample(cache.context))
                continue
            draft.accept(answer.tokens[accepted:])
            accepted = len(answer.tokens)
            # What fits the answer, memory and context beside the token that comes in any case.
            room = min(writer.left - 1, cache.context.branches, cache.context.n_ctx - len(cache.tokens) - 1)
            tree = draft.propose(max(0, room))
            if not cache.verify(answer.tokens[-1], tree):
                break
            path = list[int]()
            try:
                goes_on = _agree(tree, cache.context, sampler, writer, path)
            finally:
                cache.keep(tree, path)
                answer.rounds += 1
                answer.drafted += len(tree)
                answer.accepted += len(path)
    writer.end()


def _agree(tree: DraftTree, context: LlamaContext, sampler: Sampler, writer: _Writer, path: list[int]) -> bool:
    """Write the target's choices from the root of `tree` down, add those in it to `path`; False at the end."""
    node, goes_on = ROOT, True
    while goes_on and not writer.overthinks:
        token = sampler.sample(context, node + 1)
        goes_on = writer.write(token)
        child = tree.child(node, token)
        if child is None:
            break
        if goes_on and not writer.overthinks:
            path.append(child)
        node = child
    return goes_on


class _Writer:
    """Turns tokens into text until one ends the answer. `overthinks`: a thought has to be ended first."""

    def __init__(
        self,
        answer: DecodedAnswer,
        vocabulary: Vocabulary,
        sampling: Sampling,
        thoughts: ThoughtStream | None,
        thought_limit: int,
    ) -> None:
        self._answer, self._vocabulary = answer, vocabulary
        self._most, self._most_thought = sampling.max_tokens, thought_limit
        self._thoughts = thoughts or ThoughtStream()
        self._stream = TextStream(sampling.stop, self._thoughts)
        markers = (text for one in self._thoughts.markers for text in (one.opening, one.closing, one.direct))
        self._markers = {token for text in markers for token in vocabulary.tokenize(text, special=True).tolist()}
        self._endings, self.overthinks = 0, False

    @property
    def left(self) -> int:
        """How many tokens may come until the thought is too long, or the answer."""
        answer = self._most - self._said
        thought = self._most_thought - self._answer.thought_tokens
        if self._thoughts.thinking:
            return thought
        return answer if self._thoughts.answering else min(answer, thought)

    def end_thought(self) -> None:
        """Write what ends the thought."""
        self._endings += 1
        self._answer.cut_off |= 0 < self._most_thought <= self._answer.thought_tokens
        for token in self._vocabulary.tokenize(self._thoughts.end_thought(), special=True).tolist():
            self._add(token)
        self.overthinks = False

    def end(self) -> None:
        """Show what was held back."""
        self._answer.show(self._stream.flush())

    def write(self, token: int) -> bool:
        """Show a token, unless it ends the answer or the thought. Returns whether the answer goes on."""
        ended = self._vocabulary.is_end(token)
        self.overthinks = ended and self._thoughts.thinking
        if not self.overthinks:
            self._add(token)
            self.overthinks = self._thoughts.thinking and self._answer.thought_tokens >= self._most_thought
        if self.overthinks and self._endings < _MOST_ENDINGS:
            return True
        full = self.overthinks or (self._thoughts.answering and self._said >= self._most)
        finish: Finish | None = "eos" if ended else "stop" if self._stream.stopped else "length" if full else None
        self._answer.finish = finish or self._answer.finish
        return finish is None

    @property
    def _said(self) -> int:
        return len(self._answer.tokens) - self._answer.thought_tokens

    def _add(self, token: int) -> None:
        self._answer.add(token)
        special = not self._thoughts.answering and token in self._markers
        if not self._vocabulary.is_end(token):
            self._answer.show(self._stream.feed(self._vocabulary.piece(token, special=special)))
        if self._thoughts.begun and not self._thoughts.answering:
            self._answer.thought_tokens = len(self._answer.tokens)


class Sampler:
    """A chain of llama.cpp samplers, seeded; none at temperature 0, where it would copy the vocabulary."""

    def __init__(self, sampling: Sampling, grammar: AnswerGrammar | None = None) -> None:
        """With a `grammar`, only tokens that it allows are chosen; it is told of them."""
        self._chain = _chain(sampling) if sampling.temperature else None
        self._grammar = grammar

    def sampled(self, context: LlamaContext) -> AbstractContextManager[None]:
        """Have `context` evaluate for `sample`."""
        return context.choosing() if self._chain is None and self._grammar is None else nullcontext()

    def sample(self, context: LlamaContext, row: int = -1) -> int:
        """A token chosen from a row of the last evaluation's logits, for which the evaluation must have asked."""
        if self._grammar is None:
            return self._any(context, row)
        if not self._grammar.begun and (early := self._grammar.before_answer(self._any(context, row))) is not None:
            return early
        token = self._allowed(context, row, self._grammar)
        self._grammar.go_on(token)
        return token

    def _allowed(self, context: LlamaContext, row: int, grammar: AnswerGrammar) -> int:
        if self._chain is None and grammar.allows(token := context.likeliest(row)):
            return token  # which needs no mask of the whole vocabulary
        allowed = grammar.allowed()
        logits = context.logits(row)[allowed]
        return int(allowed[logits.argmax() if self._chain is None else _drawn(self._chain, logits)])

    def _any(self, context: LlamaContext, row: int) -> int:
        if self._chain is None:
            return context.likeliest(row)
        return int(llama_cpp.llama_sampler_sample(self._chain, context.handle, row))

    def close(self) -> None:
        """Free the chain."""
        if self._chain is not None:
            llama_cpp.llama_sampler_free(self._chain)


def _drawn(chain: llama_cpp.llama_sampler_p, logits: NDArray[np.float32]) -> int:
    """The number of one of the logits, drawn by a chain."""
    candidates = np.zeros(len(logits), [("id", np.int32), ("logit", np.float32), ("p", np.float32)])
    candidates["id"], candidates["logit"] = np.arange(len(logits)), logits
    pointer = candidates.ctypes.data_as(ctypes.POINTER(llama_cpp.llama_token_data))
    array = llama_cpp.llama_token_data_array(data=pointer, size=len(logits), selected=-1, sorted=False)
    llama_cpp.llama_sampler_apply(chain, ctypes.byref(array))
    return int(array.data[array.selected].id)


def _chain(sampling: Sampling) -> llama_cpp.llama_sampler_p:
    chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
    llama_cpp.llama_sampler_chain_add(chain, llama_cpp.llama_sampler_init_top_p(sampling.top_p, 1))
    llama_cpp.llama_sampler_chain_add(chain, llama_cpp.llama_sampler_init_temp(sampling.temperature))
    llama_cpp.llama_sampler_chain_add(chain, llama_cpp.llama_sampler_init_dist(sampling.seed))
    return chain

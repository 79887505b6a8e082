"""Follows a grammar while an answer is decoded: llguidance says which tokens may come next."""

from __future__ import annotations

import numpy as np
from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper
from numpy.typing import NDArray

from winnow_engine.errors import SchemaError
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.targets.local.schemas import LIMITS, first_line
from winnow_engine.targets.thinking import ThoughtStream


class GrammarVocabulary:
    """A model's tokens as llguidance wants them, which takes 0.7 s to make for 152,000."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        ends = [token for token in range(vocabulary.size) if vocabulary.is_end(token)]
        wrapper = TokenizerWrapper(_Tokens(vocabulary, ends[0]))
        self._tokens = LLTokenizer(wrapper, n_vocab=vocabulary.size, eos_token=ends, slices=LLTokenizer.json_slices())

    def follow(self, grammar: str, thoughts: ThoughtStream, field: str) -> AnswerGrammar:
        """The start of an answer that `thoughts` tells from thoughts; the request has the grammar in `field`.

        Raises SchemaError if it is too complex.
        """
        matcher = LLMatcher(self._tokens, grammar, log_level=0, limits=LIMITS)
        return AnswerGrammar(matcher, self._vocabulary, thoughts, field)


class _Tokens:
    """What `TokenizerWrapper` reads."""

    def __init__(self, vocabulary: Vocabulary, end: int) -> None:
        pieces = [vocabulary.piece(token) for token in range(vocabulary.size)]
        # No text leads to a control token, which llguidance knows by this byte.
        self.tokens = [piece or b"\xff" + vocabulary.spelling(token) for token, piece in enumerate(pieces)]
        self.special_token_ids = [token for token, piece in enumerate(pieces) if not piece]
        self.eos_token_id, self.bos_token_id = end, None
        self._vocabulary = vocabulary

    def __call__(self, text: str) -> list[int]:
        tokens: list[int] = self._vocabulary.tokenize(text).tolist()
        return tokens


class AnswerGrammar:
    """Says which tokens may follow. A thought before the answer is free."""

    def __init__(self, matcher: LLMatcher, vocabulary: Vocabulary, thoughts: ThoughtStream, field: str) -> None:
        self._matcher, self._vocabulary, self._thoughts, self._field = matcher, vocabulary, thoughts, field
        self.allowed()

    @property
    def begun(self) -> bool:
        """Whether the answer has begun. If not, it may or may not begin with the next token."""
        return self._thoughts.answering

    def before_answer(self, token: int) -> int | None:
        """The token to take before the answer begins: this one, or one that completes a marker. None if it begins."""
        if self._thoughts.precedes_answer(self._vocabulary.piece(token, special=True).decode("utf-8", "replace")):
            return token
        rest = self._thoughts.rest_of_marker()
        return int(self._vocabulary.tokenize(rest, special=True)[0]) if rest else None

    def allowed(self) -> NDArray[np.intp]:
        """The tokens that may follow, at least one. Raises SchemaError if that takes too much to find out."""
        bits = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        found = np.flatnonzero(np.unpackbits(bits, bitorder="little", count=self._vocabulary.size))
        if self._matcher.is_error() or not len(found):
            reason = first_line(self._matcher.get_error())
            raise SchemaError(self._field, f"{self._field} is too complex to be followed: {reason}")
        return found

    def allows(self, token: int) -> bool:
        """Whether this token may follow."""
        return bool(self._matcher.validate_tokens([token]) == 1)

    def go_on(self, token: int) -> None:
        """Take in the token that follows."""
        self._matcher.consume_token(token)

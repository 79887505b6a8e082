"""Grammars of answers: rules from JSON schemas, and llguidance, which says which tokens may come next."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from llguidance import LLMatcher, LLParserLimits, LLTokenizer, TokenizerWrapper
from numpy.typing import NDArray

from winnow_engine.errors import SchemaError
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.targets.text_stream import ThoughtStream

LIMITS = LLParserLimits(verbose_errors=False)
# Small models would indent for ever. It also takes the place of options that a client's schema holds.
_OPTIONS = {"x-guidance": {"whitespace_pattern": r"( |\n{1,2}[ \t]{0,20})?"}}
# Small models write 1234567890… for ever. Whole numbers beyond are not exact in JavaScript anyway.
_LARGEST = 2**53 - 1
_MAPS, _LISTS = ("properties", "$defs", "definitions", "patternProperties"), ("anyOf", "oneOf", "allOf", "prefixItems")


def json_rule(schema: Mapping[str, Any], field: str) -> str:
    """What stands for JSON of a schema in a rule. Raises SchemaError, which names `field`."""
    if reason := fault(schema):
        raise SchemaError(field, f"{field} cannot be followed: {reason}")
    return f"%json {_text(schema)}"


def fault(schema: Mapping[str, Any]) -> str:
    """The reason why a schema cannot be followed, "" if it can."""
    try:
        error = LLMatcher.validate_grammar(LLMatcher.grammar_from_json_schema(_text(schema)), limits=LIMITS)
    except BaseException as panic:  # version 1.9.1 cuts some messages inside a character
        if type(panic).__name__ != "PanicException":
            raise
        return "it is not valid, or not supported"
    return first_line(error)


def first_line(error: str) -> str:
    """An error of llguidance, without its state."""
    return " ".join(error.partition("\n<")[0].split())[:300]


def _text(schema: Mapping[str, Any]) -> str:
    return json.dumps({**_bounded(schema), **_OPTIONS}, ensure_ascii=False)


def _bounded(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with bounds for whole numbers that have none."""
    bounds, kind = dict[str, int](), schema.get("type")
    if "integer" in (kind if isinstance(kind, list) else [kind]) and not schema.keys() & {"enum", "const"}:
        bounds |= {} if "exclusiveMinimum" in schema else {"minimum": -_LARGEST}
        bounds |= {} if "exclusiveMaximum" in schema else {"maximum": _LARGEST}
    return bounds | {name: _bounded_inside(name, value) for name, value in schema.items()}


def _bounded_inside(name: str, value: Any) -> Any:
    if name in _MAPS and isinstance(value, dict):
        return {key: _bounded(one) if isinstance(one, dict) else one for key, one in value.items()}
    if name in _LISTS and isinstance(value, list):
        return [_bounded(one) if isinstance(one, dict) else one for one in value]
    return _bounded(value) if name in ("items", "additionalProperties") and isinstance(value, dict) else value


class GrammarVocabulary:
    """A model's tokens as llguidance wants them, which takes 0.7 s to make for 152,000."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        ends = [token for token in range(vocabulary.size) if vocabulary.is_end(token)]
        wrapper = TokenizerWrapper(_Tokens(vocabulary, ends[0]))
        self._tokens = LLTokenizer(wrapper, n_vocab=vocabulary.size, eos_token=ends, slices=LLTokenizer.json_slices())

    def follow(self, grammar: str, thoughts: ThoughtStream, field: str) -> AnswerGrammar:
        """The start of an answer apart from `thoughts`. SchemaError, naming `field`, if it is too complex."""
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

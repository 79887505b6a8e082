"""Answers that follow a grammar, on a tiny model of random weights: whatever it would say, it says what is allowed."""

import json
import time
from contextlib import suppress
from typing import Any

import jsonschema
import pytest
from schemas import SCHEMAS, record

from winnow_engine.chat.calls import CallReader
from winnow_engine.core import Sampling
from winnow_engine.errors import SchemaError
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.prompting.tools import NO_TOOLS, AnswerFormat, Tools
from winnow_engine.targets.drafts.base import Draft, NoDraft
from winnow_engine.targets.local.call_forms import FORMS, CallForm, answer_grammar
from winnow_engine.targets.local.decoding import DecodedAnswer, decode
from winnow_engine.targets.local.grammar import GrammarVocabulary
from winnow_engine.targets.text_stream import MARKERS, ThoughtStream

from ..loaded import PROMPT, Loaded, Oracle

# Of more tokens that are drawn at random, one sooner or later depends on how many were evaluated at once.
GREEDY, DRAWN = Sampling(max_tokens=250), Sampling(temperature=1.0, top_p=0.9, seed=5, max_tokens=60)
PICK = record(colour={"enum": ["red", "green"]}, number={"type": "integer", "minimum": 1, "maximum": 500})
NESTED = {"type": "object", "properties": {"a": {"items": {"anyOf": [{"type": "null"}, {"not": {}}]}}}}
EXPLODING = {"type": "string", "pattern": "(a|b|c|ab|bc|abc){0,500}(.{0,300}x){0,40}"}


def follow(
    loaded: Loaded, grammar: str | None, sampling: Sampling = GREEDY, draft: Draft | None = None,
    thoughts: ThoughtStream | None = None,
) -> DecodedAnswer:  # fmt: skip
    assert grammar
    thoughts, answer, draft = thoughts or ThoughtStream(), DecodedAnswer(lambda _: None), draft or NoDraft()
    loaded.cache.context.abort_with(AbortFlag())
    loaded.prefill(PROMPT)
    draft.begin(PROMPT, AbortFlag())
    followed = GrammarVocabulary(loaded.vocabulary).follow(grammar, thoughts, "f")
    decode(answer, loaded.cache, loaded.vocabulary, sampling, draft, thoughts, 20, followed)
    return answer


def of_format(schema: dict[str, Any]) -> str | None:
    return answer_grammar(AnswerFormat(schema, {}, "f"), NO_TOOLS, None)


@pytest.mark.parametrize("sampling", [GREEDY, DRAWN], ids=["greedy", "drawn"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_an_answer_is_json_of_its_schema_and_drafts_change_nothing(
    loaded: Loaded, name: str, sampling: Sampling
) -> None:
    answer = follow(loaded, of_format(SCHEMAS[name]), sampling)
    if answer.finish == "eos":
        jsonschema.validate(json.loads(answer.text), SCHEMAS[name])
    assert answer.finish in ("eos", "length")
    for seed in range(2):
        drafted = follow(loaded, of_format(SCHEMAS[name]), sampling, Oracle(answer.tokens, seed))
        assert (drafted.tokens, drafted.finish) == (answer.tokens, answer.finish)
        assert loaded.cache.tokens.tolist() == [*PROMPT, *answer.tokens[:-1]]
    assert drafted.accepted


@pytest.mark.parametrize("markers", MARKERS)
def test_the_grammar_begins_behind_the_thought(loaded: Loaded, markers: Any) -> None:
    thoughts = ThoughtStream(MARKERS, inside=markers)
    answer = follow(loaded, of_format(PICK), thoughts=thoughts)
    jsonschema.validate(json.loads(answer.text), PICK)
    assert (answer.thought_tokens >= 20, answer.cut_off) == (True, True)
    assert follow(loaded, of_format(PICK), thoughts=ThoughtStream(MARKERS)).text == follow(loaded, of_format(PICK)).text


def test_a_marker_that_has_begun_is_completed(loaded: Loaded) -> None:
    thoughts = ThoughtStream(MARKERS)
    grammar = GrammarVocabulary(loaded.vocabulary).follow(of_format(PICK) or "", thoughts, "f")
    (less, tea, brace) = (loaded.vocabulary.tokenize(one)[0] for one in "<t{")
    assert (grammar.before_answer(brace), grammar.before_answer(less)) == (None, less)
    thoughts.feed("\n<")
    assert (grammar.before_answer(tea), grammar.before_answer(brace), grammar.begun) == (tea, tea, False)


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (NESTED, 'f cannot be followed: Unimplemented keys: ["not"]'),
        ({"$ref": "#/$defs/x"}, "Pointer '/$defs/x' does not exist"),
        ({"$ref": "https://example.org/x.json"}, "does not fetch"),
        ({"$ref": "#"}, "too complex"),
        ({"$defs": {"x": {"type": "wat"}}, "$ref": "#/$defs/x"}, "f cannot be followed: Invalid type: wat"),
        ({"type": "string", "pattern": "(?=a)b"}, "look-around"),
        ({"type": "integer", "minimum": 5, "maximum": 3}, "minimum (5) is greater than maximum (3)"),
        ({"enum": [f"value {n}" for n in range(100_000)]}, "too big"),
        ({"type": "string", "x-guidance": {"whitespace_pattern": "("}, "format": "wat"}, "Unknown format: wat"),
        ({"minLength": "é" * 60}, "it is not valid, or not supported"),  # llguidance panics while it says so
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_a_schema_that_cannot_be_followed_is_refused_with_the_reason(
    loaded: Loaded, schema: dict[str, Any], says: str
) -> None:
    with pytest.raises(SchemaError) as raised:
        follow(loaded, of_format(schema))
    assert says in str(raised.value)
    assert len(str(raised.value)) < 600


def test_a_pattern_that_explodes_takes_no_longer_than_others(loaded: Loaded) -> None:
    grammar = GrammarVocabulary(loaded.vocabulary).follow(of_format(EXPLODING) or "", ThoughtStream(), "f")
    started = time.thread_time()  # the machine may be busy
    with suppress(SchemaError):
        for token in loaded.vocabulary.tokenize('"' + "abcax" * 60).tolist():
            grammar.go_on(token)
            grammar.allowed()
    assert time.thread_time() - started < 20


def function(name: str, strict: bool, schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": schema, "strict": strict}}


PICKS, LOOKS = function("pick", True, PICK), function("look", False, record(at={"enum": ["here"]}))
ODD = function("odd", False, {"properties": {"at": {"not": {}}}})


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.opening)
@pytest.mark.parametrize(
    ("tools", "wanted", "begins"),
    [
        (Tools((PICKS,), required=True), None, "pick"),
        (Tools((PICKS, LOOKS), required=True, only="look"), None, "look"),
        (Tools((PICKS, LOOKS), required=True, parallel=False), None, ""),
        (Tools((PICKS, LOOKS), required=True), None, ""),
        (Tools((PICKS, ODD)), AnswerFormat(PICK, {}, "f"), ""),
    ],
)
def test_calls_have_the_arguments_of_their_schema(
    loaded: Loaded, form: CallForm, tools: Tools, wanted: AnswerFormat | None, begins: str
) -> None:
    prefix = form.opening + (begins + form.middle if begins else "") if tools.required else ""
    for sampling in (GREEDY, DRAWN):
        answer = follow(loaded, answer_grammar(wanted, tools, form), sampling)
        if answer.finish == "length":
            continue  # a tiny model repeats itself
        calls, said = list[tuple[str, Any]](), list[str]()
        reader = CallReader(tools, said.append, lambda name, arguments: calls.append((name, json.loads(arguments))))  # noqa: B023
        reader.feed(prefix + answer.text)
        reader.end()
        if calls or tools.required:
            assert ("".join(said).strip(), begins in ("", calls[0][0])) == ("", True)
        else:
            jsonschema.validate(json.loads(answer.text), PICK)
        for name, arguments in calls:
            schema = next(one["function"]["parameters"] for one in tools.definitions if one["function"]["name"] == name)
            jsonschema.validate(arguments, schema)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.opening)
@pytest.mark.parametrize("schema", [{"properties": [1]}, {"properties": {"a": {"type": 5}}}], ids=str)
def test_only_strict_tools_need_a_schema_that_can_be_followed(form: CallForm, schema: dict[str, Any]) -> None:
    assert answer_grammar(None, Tools((function("f", False, schema),), required=True), form)
    with pytest.raises(SchemaError, match=r"tools\.f\.parameters"):
        answer_grammar(None, Tools((function("f", True, schema),)), form)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.opening)
def test_only_sound_calls_of_strict_tools_may_come_in_free_text(loaded: Loaded, form: CallForm) -> None:
    grammar = answer_grammar(None, Tools((PICKS,)), form)
    assert answer_grammar(None, Tools((LOOKS,)), form) is None
    followed = GrammarVocabulary(loaded.vocabulary)
    good = json.dumps({"colour": "red", "number": 7})
    begun = form.opening + "pick" + form.middle
    texts = {"Well, {}": True, '```json\n{"name": "other"}\n```': True, f"{begun}": True}
    texts |= {'Yes:\n{"name": "pick", "arguments": {}}': False, '{"arguments": {}, "name": "pick"}': False}
    if not form.tags:
        texts |= {f"{begun} {good}{form.closing}": True, f"{begun} {{}}": False, f'Yes:\n{begun} {{"colour": "b': False}
        bare = '{"name": "pick",\n  "arguments": '
        texts |= {f"Yes:\n```json\n{bare}{good}\n}}\n``` Well?": True, f'```{bare}{{"colour": "b': False}
    for text, fits in texts.items():
        start, tokens = followed.follow(grammar or "", ThoughtStream(), "f"), loaded.vocabulary.tokenize(text).tolist()
        assert (start._matcher.validate_tokens(tokens) == len(tokens)) is fits, text

"""The settings a client may send, in one table: names, defaults, what is allowed.

Clients send them as `initializationOptions` and answer `workspace/configuration` with them. Whatever is unknown or
out of range is reported, and what held before holds on: in the end the default.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

from winnow_engine.config import SNAPSHOT_MEGABYTES, Models, TargetOptions, Wanted
from winnow_engine.core import Budget, Sampling
from winnow_engine.index.files import FileRules
from winnow_engine.models.registry import DEFAULT_DRAFTER, DEFAULT_TARGET

SECTION = "winnow"
AUTO: Final = "auto"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a setting's value may be: in words, as a check, and as JSON Schema."""

    words: str
    allows: Callable[[Any], bool]
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting; `name` is what follows `winnow.`."""

    name: str
    default: Any
    rule: Rule
    meaning: str


def _whole(least: int) -> Rule:
    def allows(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and value >= least

    return Rule(f"a whole number of at least {least}", allows, {"type": "integer", "minimum": least})


def _number(words: str, allows: Callable[[float], bool], **schema: Any) -> Rule:
    def check(value: Any) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool) and allows(value)

    return Rule(words, check, {"type": "number", **schema})


def _choice(*values: str) -> Rule:
    return Rule(f"one of {', '.join(values)}", lambda value: value in values, {"type": "string", "enum": list(values)})


def _or_null(rule: Rule) -> Rule:
    kinds = {**rule.schema, "type": [rule.schema["type"], "null"]}
    return Rule(f"{rule.words}, or null", lambda value: value is None or rule.allows(value), kinds)


def _or_auto(rule: Rule) -> Rule:
    schema = {"anyOf": [dict(rule.schema), {"const": AUTO}]}
    return Rule(f"{rule.words}, or {AUTO}", lambda value: value == AUTO or rule.allows(value), schema)


def _all_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_NAME = Rule("a model's name or a GGUF file", lambda v: isinstance(v, str) and bool(v.strip()), {"type": "string"})
_DRAFT = Rule("auto, off, lookup, a model's name or a GGUF file", _NAME.allows, _NAME.schema)
_PLACE = replace(_NAME, words="a model's name, a GGUF file or a URL")
_FLAG = Rule("true or false", lambda value: isinstance(value, bool), {"type": "boolean"})
_SHARE = _number("a number above 0 and at most 1", lambda v: 0 < v <= 1, exclusiveMinimum=0, maximum=1)
_SEED = _number("a whole number from 0 to 2**32 - 2", lambda v: isinstance(v, int) and 0 <= v < 2**32 - 1, minimum=0)
_PATTERNS = Rule("a list of patterns", _all_texts, {"type": "array", "items": {"type": "string"}})

SETTINGS: tuple[Setting, ...] = (
    Setting("drafter", DEFAULT_DRAFTER, _NAME, "The drafter: a name from `winnow models list`, or a GGUF file."),
    Setting(
        "target",
        DEFAULT_TARGET,
        _PLACE,
        "The target: likewise, or an OpenAI-compatible server, to which the kept code is sent: "
        "`http://127.0.0.1:8000/v1#MODEL`.",
    ),
    Setting(
        "targetContext",
        None,
        _or_null(_whole(1)),
        "Context of a target on a server in tokens; null: what it says, or 4,096.",
    ),
    Setting(
        "targetPlace",
        "auto",
        _choice(*get_args(Wanted)),
        "Where a local target lives: on the GPU, there while it answers, on the CPU; auto: as memory allows.",
    ),
    Setting(
        "kvType", TargetOptions().kv_type, _choice("f16", "q8_0", "q4_0"), "How the target stores keys and values."
    ),
    Setting(
        "draft",
        str(TargetOptions().draft),
        _DRAFT,
        "What guesses the answer's tokens ahead: earlier text, as far as it pays (auto) or always (lookup), or a small "
        "model.",
    ),
    Setting(
        "snapshotMegabytes",
        SNAPSHOT_MEGABYTES,
        _whole(0),
        "Disk for what the target has read, so that it need not read it again after a restart or another question; "
        "0: none.",
    ),
    Setting(
        "budget.tokens",
        AUTO,
        _or_auto(_whole(1)),
        "Tokens of the workspace to keep for a question; auto: as many as the answer seems to need, at most 6,000.",
    ),
    Setting("budget.ratio", None, _or_null(_SHARE), "Or the share of the workspace to keep."),
    Setting(
        "budget.earlierTokens", Budget().earlier_tokens, _whole(0), "Tokens of a conversation's earlier turns to keep."
    ),
    Setting("answer.maxTokens", Sampling().max_tokens, _whole(1), "Longest answer, in tokens of the target."),
    Setting(
        "answer.temperature",
        Sampling().temperature,
        _number("a number of at least 0", lambda v: 0 <= v < float("inf"), minimum=0),
        "0 always takes the likeliest token.",
    ),
    Setting("answer.topP", Sampling().top_p, _SHARE, "Sample from the likeliest tokens that make up this probability."),
    Setting("answer.seed", Sampling().seed, _SEED, "Seed of the sampling."),
    Setting("files.include", [], _PATTERNS, "Take only files that match (gitignore syntax)."),
    Setting("files.exclude", [], _PATTERNS, "Leave out files that match (gitignore syntax)."),
    Setting("files.maxBytes", FileRules().max_bytes, _whole(1), "Leave out larger files."),
    Setting("index.automatic", True, _FLAG, "Keep the index up to date while nobody asks."),
    Setting("codeLens.enabled", False, _FLAG, "Show *Explain* and *Uses* above functions."),
)
_BY_NAME = {setting.name: setting for setting in SETTINGS}


_MODELS = ("drafter", "target", "kvType", "draft", "targetContext", "targetPlace", "snapshotMegabytes")


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one client, checked."""

    models: Models
    budget: Budget
    sampling: Sampling
    rules: FileRules
    index_automatic: bool
    code_lens: bool

    @classmethod
    def read(cls, *documents: object) -> tuple[Settings, tuple[str, ...]]:
        """The settings in some JSON documents, the last one winning, and what is wrong with them."""
        values = {setting.name: setting.default for setting in SETTINGS}
        problems: list[str] = []
        for document in documents:
            for name, value in _flat(document):
                problem = _problem(name, value, values.get(name))
                if problem is None:
                    values[name] = value
                else:
                    problems.append(problem)
        return cls._of(values), tuple(dict.fromkeys(problems))

    @classmethod
    def _of(cls, values: Mapping[str, Any]) -> Settings:
        answer = (values[f"answer.{name}"] for name in ("temperature", "topP", "seed", "maxTokens"))
        tokens = None if values["budget.tokens"] == AUTO else values["budget.tokens"]
        files = values["files.maxBytes"], tuple(values["files.include"]), tuple(values["files.exclude"])
        return cls(
            models=Models(*(values[name] for name in _MODELS)),
            budget=Budget(tokens, values["budget.ratio"], values["budget.earlierTokens"]),
            sampling=Sampling(*answer),
            rules=FileRules(*files),
            index_automatic=values["index.automatic"],
            code_lens=values["codeLens.enabled"],
        )


def _flat(document: object, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """`{"budget": {"tokens": 5}}` and `{"budget.tokens": 5}`, with or without `winnow` around them, by dotted name."""
    if document is None:
        return
    if not isinstance(document, dict):
        yield prefix, document
        return
    own = {key: value for key, value in document.items() if f"{key}.".startswith(f"{SECTION}.")}
    for key, value in (own or document).items():  # beside ours, what a client sends is for other servers
        name = f"{prefix}.{key}" if prefix else str(key).removeprefix(f"{SECTION}.")
        if name == SECTION:
            yield from _flat(value)
        elif isinstance(value, dict):
            yield from _flat(value, name)
        else:
            yield name, value


def _problem(name: str, value: Any, kept: Any) -> str | None:
    setting = _BY_NAME.get(name)
    if setting is None:
        return f"there is no setting {SECTION}.{name}" if name else "the settings are not an object"
    if setting.rule.allows(value):
        return None
    return f"{SECTION}.{name} must be {setting.rule.words}, not {reprlib.repr(value)}; using {kept!r}"

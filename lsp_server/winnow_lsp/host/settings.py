"""The settings in one table, the rules of their values, and how they are read.

Editors send them as `initializationOptions` and in answer to `workspace/configuration`; commands read `winnow.toml`
(`user_files.py`) and take options. Unknown names and invalid values are reported, and the value before stays.
"""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Final, get_args

from winnow_engine.config import Config, KvType, Wanted
from winnow_engine.core import Budget, Thinking
from winnow_lsp.host.old_settings import GONE, RENAMED, renewed

AUTO: Final = "auto"
_SHARE = re.compile(r"\d{1,3}(\.\d+)?%")

_TEXTS = {"type": "array", "items": {"type": "string"}}
SECTION = "winnow"


@dataclass(frozen=True, slots=True)
class Rule:
    """The values a setting may have: in words, as a check, and as JSON Schema. `metavar` stands for it in `--help`."""

    words: str
    allows: Callable[[Any], bool]
    schema: Mapping[str, Any]
    metavar: str | None = None


def whole(least: int) -> Rule:
    """A whole number of at least `least`."""
    return Rule(
        f"a whole number of at least {least}",
        lambda value: _is_whole(value) and value >= least,
        {"type": "integer", "minimum": least},
    )


def choice(*values: str) -> Rule:
    """One of some texts."""
    return Rule(f"one of {', '.join(values)}", lambda value: value in values, {"type": "string", "enum": list(values)})


def or_null(rule: Rule) -> Rule:
    """The values of a rule, or null."""
    kinds = {**rule.schema, "type": [rule.schema["type"], "null"]}
    return Rule(f"{rule.words}, or null", lambda value: value is None or rule.allows(value), kinds)


def text(words: str, metavar: str) -> Rule:
    """A text that is not blank."""
    return Rule(words, lambda value: isinstance(value, str) and bool(value.strip()), {"type": "string"}, metavar)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")


def _is_budget(value: Any) -> bool:
    if isinstance(value, str):
        return value == AUTO or (_SHARE.fullmatch(value) is not None and 0 < share_of(value) <= 1)
    return _is_whole(value) and value >= 1


def share_of(value: str) -> float:
    """A share such as `5%` as a number."""
    return float(value.removesuffix("%")) / 100


def _all_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


FLAG = Rule("true or false", lambda value: isinstance(value, bool), {"type": "boolean"})
SECONDS = Rule("a number above 0", _is_positive, {"type": "number", "exclusiveMinimum": 0})
LOCATIONS = Rule("a list of folders or URLs", _all_texts, _TEXTS)
PATTERNS = Rule("a list of patterns", _all_texts, _TEXTS)
BUDGET = Rule(
    "auto, a whole number of at least 1, or a share such as 5%",
    _is_budget,
    {
        "anyOf": [
            {"type": "integer", "minimum": 1},
            {"type": "string", "pattern": r"^(auto|(100|(?!0+(\.0+)?%)\d{1,2}(\.\d+)?)%)$"},
        ]
    },
    "auto|N|N%",
)


@dataclass(frozen=True, slots=True)
class Settings(Config):
    """The configuration of one client, with the settings that only concern editors."""

    index_automatic: bool = True
    code_lens: bool = False

    @classmethod
    def read(cls, *documents: object) -> tuple[Settings, tuple[str, ...]]:
        """The settings in some JSON documents, the last one winning, and the problems with them."""
        values, problems = read_values(*documents)
        return cls.of(values), problems

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Settings:
        """The settings with these values by name, defaults for the rest."""
        settings = cls()
        for setting in SETTINGS:
            if setting.name in values:
                settings = _with(settings, setting.field.split("."), values[setting.name])
        return settings


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting: its name after `winnow.`, and its field in `Settings`. No workspace is to set one `of_user`."""

    name: str
    field: str
    rule: Rule
    meaning: str
    of_user: bool = False

    @property
    def default(self) -> Any:
        """The default as JSON."""
        value = attrgetter(self.field)(Settings())
        if isinstance(value, tuple):
            return list(value)
        return AUTO if isinstance(value, Budget) else value


_MODEL = text("a model's name or a GGUF file", "NAME|FILE")
_TARGET = text("a model's name, a GGUF file or a URL", "NAME|FILE|URL")
_SPECULATE = text("auto, off, lookup, a model's name or a GGUF file", "auto|off|lookup|NAME|FILE")
SETTINGS: tuple[Setting, ...] = (
    Setting("drafter", "models.drafter", _MODEL, "The drafter: a name from `winnow models list`, or a GGUF file.",
            of_user=True),
    Setting("target", "models.target", _TARGET,
            "The target: likewise, or an OpenAI-compatible server, which gets the kept code: "
            "`http://127.0.0.1:8000/v1#MODEL`.", of_user=True),
    Setting("targetContext", "models.target_context", or_null(whole(1)),
            "Context of a target on a server, in tokens; unset: what the server says, or 4,096."),
    Setting("targetPlace", "models.target_place", choice(*get_args(Wanted)),
            "Where a local target lives: on the GPU, there while it answers, or on the CPU; auto: as memory allows."),
    Setting("kvType", "models.kv_type", choice(*get_args(KvType)), "Precision of a local target's keys and values."),
    Setting("speculate", "models.speculate", _SPECULATE,
            "What guesses the next tokens for a local target: earlier text where it pays (auto) or always (lookup), "
            "or a draft model.", of_user=True),
    Setting("budget", "budget", BUDGET,
            "Code to keep for a question: a number of tokens, a share of the workspace, or, with auto, as much as the "
            "answer seems to need, at most 6,000 tokens."),
    Setting("patience", "budget.patience_s", SECONDS,
            "Seconds that a target may read what auto keeps. A slow one gets less code, but at least 800 tokens."),
    Setting("maxTokens", "sampling.max_tokens", whole(1), "Longest answer, in tokens."),
    Setting("thinking", "sampling.thinking", choice(*get_args(Thinking)),
            "Whether a reasoning model thinks before it answers; auto: not if its chat template can turn that off."),
    Setting("files.include", "files.include", PATTERNS, "Take only files that match (gitignore syntax)."),
    Setting("files.exclude", "files.exclude", PATTERNS, "Leave out files that match (gitignore syntax)."),
    Setting("index.shared", "shared_indexes", LOCATIONS,
            "Indexes that others wrote with `winnow index --out`. Files they have are not encoded here.",
            of_user=True),
    Setting("index.automatic", "index_automatic", FLAG, "Keep the index up to date in the background."),
    Setting("cacheMegabytes", "models.cache_megabytes", whole(0),
            "Disk for the index of all workspaces, and, up to a third, for what local targets have read. What was used "
            "longest ago is deleted first. With 0, nothing that a target has read and no conversation is kept on disk, "
            "and the index has 4,000 MB.", of_user=True),
    Setting("codeLens.enabled", "code_lens", FLAG, "Show *Explain* and *Uses* above functions."),
)  # fmt: skip
BY_NAME = {setting.name: setting for setting in SETTINGS}
_LISTS = [setting.name for setting in SETTINGS if isinstance(setting.default, list)]


def read_values(*documents: object, prefix: str = f"{SECTION}.") -> tuple[dict[str, Any], tuple[str, ...]]:
    """The valid values in JSON documents, the last one winning, and the problems with others, named behind `prefix`."""
    values: dict[str, Any] = {}
    problems: list[str] = []
    for document in documents:
        found = list(_flat(document))
        # the new name wins, and of two old ones for the budget, the share
        for given, old in sorted(found, key=lambda item: (item[0] not in RENAMED, item[0] == "budget.ratio")):
            name, value = renewed(given, old, dict(found))
            problems += _notices(given, old, name, value, prefix)
            if given in GONE or (given == "budget.ratio" and old is None):
                continue
            if isinstance(value, str) and name in _LISTS:
                value = [value]  # a pattern that leaves out secrets must not be dropped
            problem = _problem(name, value, values, prefix)
            if problem is None:
                values[name] = value
            else:
                problems.append(problem)
    return values, tuple(dict.fromkeys(problems))


def _notices(given: str, old: Any, name: str, value: Any, prefix: str) -> Iterator[str]:
    if given in GONE:
        yield f"{prefix}{given} is no longer a setting: remove it"
    elif given in RENAMED:
        remedy = "rename it" if value is old else f"write {name} = {json.dumps(value)}"
        yield f"{prefix}{given} is now called {name}: {remedy}"


def _problem(name: str, value: Any, values: Mapping[str, Any], prefix: str) -> str | None:
    setting = BY_NAME.get(name)
    if setting is None:
        return f"{prefix}{name} is not a setting" if name else "the settings are not an object"
    if setting.rule.allows(value):
        return None
    used = values.get(name, setting.default)
    return f"{prefix}{name} must be {setting.rule.words}, not {reprlib.repr(value)}; using {used!r}"


def _with(owner: Any, path: list[str], value: Any) -> Any:
    """`owner` with the field at `path` set to a JSON value."""
    name, *rest = path
    here = getattr(owner, name)
    if rest:
        return replace(owner, **{name: _with(here, rest, value)})
    if isinstance(here, Budget):
        return replace(owner, **{name: budget_of(here, value)})
    return replace(owner, **{name: tuple(value) if isinstance(value, list) else value})


def budget_of(budget: Budget, value: int | str) -> Budget:
    """The budget with the number, the share, or the `auto` of a setting or a request."""
    if isinstance(value, int):
        return replace(budget, keep_tokens=value, keep_ratio=None)
    return replace(budget, keep_tokens=None, keep_ratio=None if value == AUTO else share_of(value))


def _flat(document: object, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """`{"files": {"include": []}}` and `{"files.include": []}`, also below `winnow`, by dotted name."""
    if document is None:
        return
    if not isinstance(document, dict):
        yield prefix, document
        return
    own = {key: value for key, value in document.items() if f"{key}.".startswith(f"{SECTION}.")}
    for key, value in (own or document).items():  # a client may send what is for other servers beside it
        name = f"{prefix}.{key}" if prefix else str(key).removeprefix(f"{SECTION}.")
        if name == SECTION:
            yield from _flat(value)
        elif isinstance(value, dict):
            yield from _flat(value, name)
        else:
            yield name, value

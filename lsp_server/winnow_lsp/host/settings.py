"""The settings in one table, the rules of their values, and how they are read.

Editors send them as `initializationOptions` and in answer to `workspace/configuration`; commands read `winnow.toml`
(`user_files.py`) and take options. Unknown names and invalid values are reported, and the value before stays.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from operator import attrgetter
from typing import Any, Literal, get_args

from winnow_engine.config import AUTO, Config, KvType, Wanted
from winnow_engine.core import Budget, Thinking

SECTION = "winnow"
_SHARE = re.compile(r"\d{1,3}(\.\d+)?%")


@dataclass(frozen=True, slots=True)
class Rule:
    """The values a setting may have: in words, as a check, and listed if few. `metavar` stands for it in `--help`."""

    words: str
    allows: Callable[[Any], bool]
    metavar: str | None = None
    values: tuple[str, ...] = ()


def whole(least: int) -> Rule:
    """A whole number of at least `least`."""
    return Rule(f"a whole number of at least {least}", lambda value: _is_whole(value) and value >= least)


def choice(*values: str) -> Rule:
    """One of some texts."""
    return Rule(f"one of {', '.join(values)}", lambda value: value in values, values=values)


def text(words: str, metavar: str) -> Rule:
    """A text that is not blank."""
    return Rule(words, lambda value: isinstance(value, str) and bool(value.strip()), metavar)


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


SECONDS = Rule("a number above 0", _is_positive)
PATTERNS = Rule("a list of patterns", _all_texts)
BUDGET = Rule("auto, a whole number of at least 1, or a share such as 5%", _is_budget, "auto|N|N%")


@dataclass(frozen=True, slots=True)
class Settings(Config):
    """The configuration of one client, with the settings that only concern editors."""

    index_automatic: Literal["idle", "always", "off"] = "idle"
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
        return replace(settings, models=replace(settings.models, patience_s=settings.budget.patience_s))


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting: its name after `winnow.`, and its field in `Settings`. No workspace is to set one `of_user`.

    docs/settings.md has what each means, and vscode-extension/package.json its schema; tests compare them.
    """

    name: str
    field: str
    rule: Rule
    of_user: bool = False

    @property
    def default(self) -> Any:
        """The default as JSON."""
        value = attrgetter(self.field)(Settings())
        if isinstance(value, tuple):
            return list(value)
        return AUTO if isinstance(value, Budget) else value


_MODEL = text("a model's name or a GGUF file", "NAME|FILE")
_TARGET = text("auto, a model's name, a GGUF file or a URL", "auto|NAME|FILE|URL")
_SPECULATE = text("auto, off, lookup or a GGUF file", "auto|off|lookup|FILE")
_CONTEXT = Rule("a whole number of at least 1, or null", lambda value: value is None or whole(1).allows(value))
SETTINGS: tuple[Setting, ...] = (
    Setting("drafter", "models.drafter", _MODEL, of_user=True),
    Setting("target", "models.target", _TARGET, of_user=True),
    Setting("targetContext", "models.target_context", _CONTEXT),
    Setting("targetPlace", "models.target_place", choice(*get_args(Wanted))),
    Setting("kvType", "models.kv_type", choice(*get_args(KvType))),
    Setting("speculate", "models.speculate", _SPECULATE, of_user=True),
    Setting("budget", "budget", BUDGET),
    Setting("patience", "budget.patience_s", SECONDS),
    Setting("maxTokens", "sampling.max_tokens", whole(1)),
    Setting("thinking", "sampling.thinking", choice(*get_args(Thinking))),
    Setting("files.include", "files.include", PATTERNS),
    Setting("files.exclude", "files.exclude", PATTERNS),
    Setting("index.shared", "shared_indexes", Rule("a list of folders or URLs", _all_texts), of_user=True),
    Setting("index.automatic", "index_automatic", choice("idle", "always", "off")),
    Setting("cacheMegabytes", "models.cache_megabytes", whole(0), of_user=True),
    Setting("codeLens.enabled", "code_lens", Rule("true or false", lambda value: isinstance(value, bool))),
)
BY_NAME = {setting.name: setting for setting in SETTINGS}
_LISTS = [setting.name for setting in SETTINGS if isinstance(setting.default, list)]


def read_values(*documents: object, prefix: str = f"{SECTION}.") -> tuple[dict[str, Any], tuple[str, ...]]:
    """The valid values in JSON documents, the last one winning, and the problems with others, named behind `prefix`."""
    values: dict[str, Any] = {}
    problems: list[str] = []
    for document in documents:
        for name, value in _flat(document):
            if isinstance(value, str) and name in _LISTS:
                value = [value]  # a pattern that leaves out secrets must not be dropped
            problem = _problem(name, value, values, prefix)
            if problem is None:
                values[name] = value
            else:
                problems.append(problem)
    return values, tuple(dict.fromkeys(problems))


def _problem(name: str, value: Any, values: Mapping[str, Any], prefix: str) -> str | None:
    setting = BY_NAME.get(name)
    if setting is None:
        near = "".join(f": did you mean {one}?" for one in get_close_matches(name, BY_NAME, n=1))
        return f"{prefix}{name} is not a setting{near}" if name else "the settings are not an object"
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

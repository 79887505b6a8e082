"""Every setting in one table: name, default, what is allowed, and the command-line option that sets it.

Editors send settings as `initializationOptions` and in answer to `workspace/configuration`; commands take them as
options. Unknown or invalid values are reported, and the value before stays: in the end the default.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, get_args

from winnow_engine.config import Config, KvType, Wanted
from winnow_engine.core import Thinking
from winnow_lsp.host.setting_rules import (
    AUTO,
    FLAG,
    LOCATIONS,
    PATTERNS,
    SHARE,
    Rule,
    choice,
    number,
    or_auto,
    or_null,
    text,
    whole,
)

SECTION = "winnow"


@dataclass(frozen=True, slots=True)
class Settings(Config):
    """The configuration of one client, with what only editors set."""

    index_automatic: bool = True
    code_lens: bool = False

    @classmethod
    def read(cls, *documents: object) -> tuple[Settings, tuple[str, ...]]:
        """The settings in some JSON documents, the last one winning, and what is wrong with them."""
        values = {setting.name: setting.default for setting in SETTINGS}
        problems: list[str] = []
        for document in documents:
            for given, value in _flat(document):
                name = _RENAMED.get(given, given)
                if name != given:
                    problems.append(f"{SECTION}.{given} is now called {SECTION}.{name}: rename it")
                problem = _problem(name, value, values.get(name))
                if problem is None:
                    values[name] = value
                else:
                    problems.append(problem)
        return cls.of(values), tuple(dict.fromkeys(problems))

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Settings:
        """The settings with these values by name, defaults for the rest. ValueError if a value is out of range."""
        settings = cls()
        for setting in SETTINGS:
            if setting.name in values:
                settings = _with(settings, setting.field.split("."), _native(setting, values[setting.name]))
        return settings


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its name after `winnow.`, its place in `Settings`, and its command-line option, if any.

    One `of_all` concerns all workspaces at once. The user sets it: an editor that can is not to let a workspace.
    """

    name: str
    field: str
    rule: Rule
    meaning: str
    option: str | None = None
    of_all: bool = False

    @property
    def default(self) -> Any:
        """The default as JSON."""
        value = attrgetter(self.field)(Settings())
        if isinstance(value, tuple):
            return list(value)
        return AUTO if value is None and self.rule.allows(AUTO) else value


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "drafter",
        "models.drafter",
        text("a model's name or a GGUF file", "NAME|FILE"),
        "The drafter: a name from `winnow models list`, or a GGUF file.",
        "--drafter",
    ),
    Setting(
        "target",
        "models.target",
        text("a model's name, a GGUF file or a URL", "NAME|FILE|URL"),
        "The target: likewise, or an OpenAI-compatible server, to which the kept code is sent: "
        "`http://127.0.0.1:8000/v1#MODEL`.",
        "--target",
    ),
    Setting(
        "targetContext",
        "models.target_context",
        or_null(whole(1)),
        "Context of a target on a server, in tokens; unset: what the server says, or 4,096.",
        "--target-context",
    ),
    Setting(
        "targetPlace",
        "models.target_place",
        choice(*get_args(Wanted)),
        "Where a local target lives: on the GPU, there while it answers, or on the CPU; auto: as memory allows.",
        "--target-place",
    ),
    Setting(
        "kvType",
        "models.kv_type",
        choice(*get_args(KvType)),
        "How a local target stores keys and values.",
        "--kv-type",
    ),
    Setting(
        "speculate",
        "models.speculate",
        text("auto, off, lookup, a model's name or a GGUF file", "auto|off|lookup|NAME|FILE"),
        "What drafts the answer's tokens ahead of the target: earlier text, as far as it pays (auto) or always "
        "(lookup), or a draft model.",
        "--speculate",
    ),
    Setting(
        "snapshotMegabytes",
        "models.snapshot_megabytes",
        whole(0),
        "Disk for what a local target has read, in all workspaces, so that it need not read it again after a restart "
        "or another question; 0: none.",
        "--snapshot-megabytes",
        of_all=True,
    ),
    Setting(
        "budget.tokens",
        "budget.keep_tokens",
        or_auto(whole(1)),
        "Tokens of the workspace to keep for a question; auto: as many as the answer seems to need, at most 6,000.",
        "--budget",
    ),
    Setting(
        "budget.ratio",
        "budget.keep_ratio",
        or_null(SHARE),
        "The share of the workspace to keep, in place of a number of tokens.",
        "--keep-ratio",
    ),
    Setting(
        "budget.patience",
        "budget.patience_s",
        number("a number above 0", lambda v: 0 < v < float("inf"), "SECONDS", exclusiveMinimum=0),
        "Seconds for which the target may read what auto keeps: a slow target gets less code, but 800 tokens at least.",
        "--patience",
    ),
    Setting(
        "budget.earlierTokens",
        "budget.earlier_tokens",
        whole(0),
        "Tokens of a conversation's earlier turns to keep.",
    ),
    Setting(
        "answer.maxTokens",
        "sampling.max_tokens",
        whole(1),
        "Longest answer, in tokens of the target.",
        "--max-tokens",
    ),
    Setting(
        "answer.thinking",
        "sampling.thinking",
        choice(*get_args(Thinking)),
        "Whether a reasoning model thinks before it answers; auto: not if its chat template can turn that off.",
        "--thinking",
    ),
    Setting(
        "answer.thinkingTokens",
        "sampling.thinking_tokens",
        whole(1),
        "Longest thought, in tokens of the target; then the model has to answer.",
        "--thinking-tokens",
    ),
    Setting(
        "answer.temperature",
        "sampling.temperature",
        number("a number of at least 0", lambda v: 0 <= v < float("inf"), minimum=0),
        "Temperature of the sampling; 0 always takes the likeliest token.",
        "--temperature",
    ),
    Setting(
        "answer.topP",
        "sampling.top_p",
        SHARE,
        "Sample from the likeliest tokens that make up this probability.",
        "--top-p",
    ),
    Setting(
        "answer.seed",
        "sampling.seed",
        whole(0, 2**32 - 2, "a whole number from 0 to 2**32 - 2"),
        "Seed of the sampling.",
        "--seed",
    ),
    Setting(
        "files.include",
        "files.include",
        PATTERNS,
        "Take only files that match (gitignore syntax).",
        "--include",
    ),
    Setting("files.exclude", "files.exclude", PATTERNS, "Leave out files that match (gitignore syntax).", "--exclude"),
    Setting("files.maxBytes", "files.max_bytes", whole(1), "Leave out larger files.", "--max-file-bytes"),
    Setting(
        "index.firstLook",
        "budget.first_look_tokens",
        whole(0),
        "Tokens of code to encode for a question where the index is far from complete; 0: complete the index first.",
        "--first-look",
    ),
    Setting(
        "index.shared",
        "shared_indexes",
        LOCATIONS,
        "Indexes that others wrote with `winnow index --out`, as folders or URLs: what they have is not encoded here.",
        "--shared-index",
    ),
    Setting(
        "index.maxMegabytes",
        "index_megabytes",
        whole(1),
        "Disk for what is indexed, of all workspaces: 80 bytes a token. What was used longest ago is deleted first.",
        "--index-megabytes",
        of_all=True,
    ),
    Setting("index.automatic", "index_automatic", FLAG, "Keep the index up to date in the background."),
    Setting("codeLens.enabled", "code_lens", FLAG, "Show *Explain* and *Uses* above functions."),
)
BY_NAME = {setting.name: setting for setting in SETTINGS}
_RENAMED = {"draft": "speculate"}


def _native(setting: Setting, value: Any) -> Any:
    """A setting's JSON value as `Settings` holds it."""
    if isinstance(value, list):
        return tuple(value)
    return None if value == AUTO and setting.field == "budget.keep_tokens" else value


def _with(owner: Any, path: list[str], value: Any) -> Any:
    """`owner` with the field at `path` replaced."""
    name, *rest = path
    return replace(owner, **{name: _with(getattr(owner, name), rest, value) if rest else value})


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
    setting = BY_NAME.get(name)
    if setting is None:
        return f"there is no setting {SECTION}.{name}" if name else "the settings are not an object"
    if setting.rule.allows(value):
        return None
    return f"{SECTION}.{name} must be {setting.rule.words}, not {reprlib.repr(value)}; using {kept!r}"

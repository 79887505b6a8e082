"""Settings and options of the version before, which are read until the next one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

RENAMED = {
    "draft": "speculate", "budget.tokens": "budget", "budget.ratio": "budget", "budget.patience": "patience",
    "answer.maxTokens": "maxTokens", "answer.thinking": "thinking", "index.maxMegabytes": "cacheMegabytes",
    "snapshotMegabytes": "cacheMegabytes",
}  # fmt: skip
GONE = (
    "effort", "readAhead", "budget.earlierTokens", "answer.thinkingTokens", "answer.temperature", "answer.topP",
    "answer.seed", "files.maxBytes", "index.firstLook", "spans.fileDecorations",
)  # fmt: skip
_MEGABYTES = {"index.maxMegabytes": 4000, "snapshotMegabytes": 2000}
_OPTIONS = {
    "--draft": "speculate", "--speculate": "speculate", "--target-context": "targetContext", "--kv-type": "kvType",
    "--target-place": "targetPlace", "--keep-ratio": "budget", "--patience": "patience", "--max-tokens": "maxTokens",
    "--thinking": "thinking", "--include": "files.include", "--exclude": "files.exclude",
    "--shared-index": "index.shared", "--index-megabytes": "index.maxMegabytes",
    "--snapshot-megabytes": "snapshotMegabytes",
}  # fmt: skip
_OPTIONS_GONE = (
    "--effort", "--thinking-tokens", "--temperature", "--top-p", "--seed", "--max-file-bytes", "--first-look",
)  # fmt: skip
_FLAGS_GONE = ("--ray", "--verbose", "-v")


def renewed(name: str, value: Any, document: Mapping[str, Any]) -> tuple[str, Any]:
    """The name and value today of a setting in `document`, which may have an old name."""
    if name == "budget.ratio" and isinstance(value, int | float) and not isinstance(value, bool):
        return RENAMED[name], f"{100 * value:g}%"
    if name in _MEGABYTES and _is_whole(value):
        parts = {part: found if _is_whole(found := document.get(part)) else usual for part, usual in _MEGABYTES.items()}
        return RENAMED[name], sum(parts.values()) if parts["snapshotMegabytes"] else 0
    return RENAMED.get(name, name), value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def renewed_options(arguments: Sequence[str], notices: list[str]) -> Iterator[str]:
    """A command's arguments, where `--set` replaces old options."""
    if "WINNOW_PROFILES_DIR" in os.environ:
        notices.append("WINNOW_PROFILES_DIR is no longer read; see docs/training.md for the folder of profiles")
    rest = iter(arguments)
    for argument in rest:
        option, equals, value = argument.partition("=")
        if argument == "--":
            yield from (argument, *rest)
        elif argument in _FLAGS_GONE:
            notices.append(f"{option} is no longer an option, and has no effect")
        elif option not in (*_OPTIONS, *_OPTIONS_GONE):
            yield argument
        else:
            value = value if equals else next(rest, "")
            if option in _OPTIONS_GONE:
                notices.append(f"{option} is no longer an option, and has no effect")
                continue
            given = f"{_OPTIONS[option]}={_percent(value) if option == '--keep-ratio' else value}"
            notices.append(f"{option} is now --set {given}")
            yield f"--set={given}"


def _percent(ratio: str) -> str:
    try:
        return f"{100 * float(ratio):g}%"
    except ValueError:
        return ratio

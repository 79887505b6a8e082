"""Results as Markdown for plain clients, with places as links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from lsprotocol import types

from winnow_engine.core import Thought, counted
from winnow_lsp.host.marking import code, plain
from winnow_lsp.host.waiting import thought_line


def answer_page(title: str, result: Mapping[str, Any]) -> str:
    """An answer, the places it cites, and the notices."""
    lines = [f"# {title}", "", *_thought(result.get("thinking")), result["answer"].strip(), ""]
    if result["finish"] == "length":
        lines += ["*Cut off here: raise `winnow.maxTokens` for longer answers.*", ""]
    cited = [*map(_link, result["citations"]), *map(_in_commit, result.get("citedBefore", ()))]
    lines += _section("Cited", cited)
    lines += _section("Notes", result["notices"])
    return "\n".join(lines)


def spans_page(title: str, result: Mapping[str, Any]) -> str:
    """The spans that would be kept and why, highest score first."""
    spans = sorted(result["spans"], key=lambda span: -span["score"])
    stats = result["stats"]
    kept = f"{stats['keptTokens']:,} of {stats['workspaceTokens']:,} tokens kept."
    lines = [f"# {title}", "", kept, "", *_section("Kept", map(_span, spans)), *_section("Notes", result["notices"])]
    return "\n".join(lines)


def review_page(result: Mapping[str, Any]) -> str:
    """What changed by file, and the findings."""
    lines = ["# Review", "", f"{result['title']}.", "", *filter(None, [result["summary"]]), ""]
    files = (f"{code(one['path'])} {one['what']}, +{one['added']} -{one['removed']}" for one in result["files"])
    lines += _section("Files", files)
    found = (f"{_link(one['location'])} {one['confidence']}: {one['reason']}" for one in result["findings"])
    return "\n".join([*lines, *_section("Findings", found), *([] if result["findings"] else ["No findings."])])


def _thought(thinking: Mapping[str, Any] | None) -> list[str]:
    if thinking is None:
        return []
    summary = thought_line(Thought(**thinking)).capitalize()
    return [f"<details><summary>{summary}</summary>", "", thinking["text"], "", "</details>", ""]


def _section(title: str, items: Iterable[str]) -> list[str]:
    lines = [f"- {item}" for item in items]
    return [f"## {title}", "", *lines, ""] if lines else []


def _span(span: Mapping[str, Any]) -> str:
    features = ", ".join(f"{name} {value:+.1f}" for name, value in span["features"].items() if value)
    what = f"{span['kind']} {code(span['name'])}" if span["name"] else span["kind"]
    tokens = counted(span["tokens"], "token")
    return f"{_link(span['location'])} · {what} · {tokens} · score {span['score']:+.2f} ({features})"


def _link(location: types.Location) -> str:
    return f"[{plain(_label(location))}]({location.uri}#L{location.range.start.line + 1})"


def _in_commit(cited: Mapping[str, Any]) -> str:
    """Lines that are in no file of today, so no link."""
    return code(f"{cited['commit'][:10]}:{_label(cited['location'])}")


def _label(location: types.Location) -> str:
    first, last = location.range.start.line + 1, location.range.end.line
    name = PurePosixPath(unquote(urlsplit(location.uri).path)).name
    return f"{name}:{first}" if first == last else f"{name}:{first}-{last}"

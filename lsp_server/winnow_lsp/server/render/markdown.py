"""Results as Markdown for plain clients, shown as a temporary file, else a message."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from posixpath import relpath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from winnow_engine.core import Citation, Sentence, Thought, counted
from winnow_engine.prompting.markdown import block, code
from winnow_lsp.host.footnotes import footnoted
from winnow_lsp.host.reply import place, plain, thought_line

_ANSWER_TIMEOUT_S = 10
_FILE_LINK = re.compile(r"\]\(file://(/[^)\s#]*)")


class Pages:
    """The pages shown to one client, in files that are there as long as it is."""

    def __init__(self, client: LanguageServer) -> None:
        self._client = client
        self._folders: list[TemporaryDirectory[str]] = []

    async def show(self, title: str, text: str) -> None:
        """Show Markdown to the user in the best way the client supports."""
        window = self._client.client_capabilities.window
        opens = bool(window and window.show_document and window.show_document.support)
        if not (opens and await self._opened(self._write(title, text))):
            self._client.window_show_message(types.ShowMessageParams(types.MessageType.Info, text))

    def close(self) -> None:
        """Remove the files."""
        for folder in self._folders:
            folder.cleanup()

    async def _opened(self, uri: str) -> bool:
        """Ask the client to open a document; returns whether it did. A client that never answers counts as refusing."""
        try:
            async with asyncio.timeout(_ANSWER_TIMEOUT_S):
                shown = await self._client.window_show_document_async(types.ShowDocumentParams(uri, take_focus=True))
        except (JsonRpcException, TimeoutError):
            return False
        return shown.success

    def _write(self, title: str, text: str) -> str:
        self._folders.append(TemporaryDirectory(prefix="winnow-"))  # one each: systems remove them after some days
        name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40] or "answer"
        path = Path(self._folders[-1].name) / f"{name}.md"
        path.write_text(_with_relative_links(text, path.parent), encoding="utf-8")
        return path.as_uri()


def _with_relative_links(text: str, folder: Path) -> str:
    """A page for a file in `folder`: previews, such as VS Code's, do not follow `file:` links."""
    start = urlsplit(folder.as_uri()).path
    return _FILE_LINK.sub(lambda link: f"]({relpath(link[1], start)}", text)


def answer_page(title: str, result: Mapping[str, Any]) -> str:
    """An answer, the places it cites, and the notices."""
    cited = [*map(_citation, result["citations"]), *map(_citation_before, result.get("citedBefore", ()))]
    answer, places, notes = footnoted(result["answer"], list(map(_sentence, result["sentences"])), cited, _cited)
    lines = [f"# {title}", "", *_thought(result.get("thinking")), answer.strip(), ""]
    if result["finish"] == "length":
        lines += ["*Cut off here: raise `winnow.maxTokens` for longer answers.*", ""]
    lines += _section("Cited", places)
    lines += _section("Notes", [*notes, *result["notices"]])
    return "\n".join(lines)


def spans_page(title: str, result: Mapping[str, Any]) -> str:
    """The spans that would be kept and why, highest score first."""
    spans = sorted(result["spans"], key=lambda span: -span["score"])
    stats = result["stats"]
    kept = f"{stats['keptTokens']:,} of {stats['workspaceTokens']:,} tokens kept."
    lines = [f"# {title}", "", kept, "", *_section("Kept", map(_span, spans)), *_section("Notes", result["notices"])]
    return "\n".join(lines)


def rejected_page(result: Mapping[str, Any]) -> str:
    """A change that is not made, and why."""
    why = f"Rejected: {result['rejected']}. Ask again, or with a larger target."
    return "\n".join([f"# {plain(result['title'])}", "", why, "", block(result["diff"], "diff"), ""])


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


def _sentence(one: Mapping[str, Any]) -> Sentence:
    """A `SentenceInfo`, with URIs as the paths of its places."""
    places = [*map(_citation, one["places"]), *map(_citation_before, one.get("placesBefore", ()))]
    unknown = tuple((name["start"], name["end"]) for name in one["unknown"])
    return Sentence(one["start"], one["end"], tuple(places), one.get("support"), unknown)


def _citation(location: types.Location, commit: str = "") -> Citation:
    return Citation(location.uri, location.range.start.line + 1, location.range.end.line, commit)


def _citation_before(cited: Mapping[str, Any]) -> Citation:
    return _citation(cited["location"], cited["commit"])


def _cited(citation: Citation) -> str:
    """A link, unless the lines are in no file of today."""
    name = PurePosixPath(unquote(urlsplit(citation.path).path)).name
    label = place(replace(citation, path=name))
    return code(label) if citation.commit else f"[{plain(label)}]({citation.path}#L{citation.start_line})"


def _link(location: types.Location) -> str:
    return _cited(_citation(location))

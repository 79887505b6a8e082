"""Results as Markdown for plain clients, shown as a temporary file, else a message."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from posixpath import relpath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from winnow_engine.core import Citation, Span, Thought, counted
from winnow_engine.prompting.markdown import block, code
from winnow_engine.review.findings import Finding
from winnow_engine.review.review import Review
from winnow_engine.selection.ranking import Selection
from winnow_engine.targets.answer import Answer
from winnow_lsp.host.footnotes import footnoted
from winnow_lsp.host.reply import place, plain, thought_line
from winnow_lsp.server.render.results import Locate

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


def answer_page(title: str, answer: Answer, locate: Locate) -> str:
    """An answer, the places it cites, and the notices."""
    sentences = [replace(one, places=_today_first(one.places)) for one in answer.sentences]
    link = partial(_link, locate=locate)
    text, places, notes = footnoted(answer.text, sentences, _today_first(answer.citations), link)
    lines = [f"# {title}", "", *_thought(answer.thought), text.strip(), ""]
    if answer.finish == "length":
        lines += ["*Cut off here: raise `winnow.maxTokens` for longer answers.*", ""]
    lines += _section("Cited", places)
    lines += _section("Notes", [*notes, *answer.notices])
    return "\n".join(lines)


def spans_page(title: str, selection: Selection, locate: Locate) -> str:
    """The spans that would be kept and why, highest score first."""
    spans = [_span(span, locate) for span in sorted(selection.spans, key=lambda span: -span.score)]
    kept = f"{selection.stats.kept_tokens:,} of {selection.stats.workspace_tokens:,} tokens kept."
    return "\n".join([f"# {title}", "", kept, "", *_section("Kept", spans), *_section("Notes", selection.notices)])


def rejected_page(result: Mapping[str, Any]) -> str:
    """A change that is not made, and why."""
    why = f"Rejected: {result['rejected']}. Ask again, or with a larger target."
    return "\n".join([f"# {plain(result['title'])}", "", why, "", block(result["diff"], "diff"), ""])


def review_page(review: Review, locate: Locate) -> str:
    """What changed by file, and the findings."""
    lines = ["# Review", "", f"{review.title}.", "", *filter(None, [review.summary]), ""]
    lines += _section("Files", (f"{code(one.path)} {one.what}, +{one.added} -{one.removed}" for one in review.files))
    found = (f"{_link(_lines(one), locate)} {one.confidence}: {one.reason}" for one in review.findings)
    return "\n".join([*lines, *_section("Findings", found), *([] if review.findings else ["No findings."])])


def _thought(thought: Thought | None) -> list[str]:
    if thought is None:
        return []
    summary = thought_line(thought).capitalize()
    return [f"<details><summary>{summary}</summary>", "", thought.text, "", "</details>", ""]


def _section(title: str, items: Iterable[str]) -> list[str]:
    lines = [f"- {item}" for item in items]
    return [f"## {title}", "", *lines, ""] if lines else []


def _span(span: Span, locate: Locate) -> str:
    features = ", ".join(f"{name} {value:+.1f}" for name, value in span.features.items() if value)
    what = f"{span.kind.value} {code(span.name)}" if span.name else span.kind.value
    tokens = counted(span.tokens, "token")
    return f"{_link(_lines(span), locate)} · {what} · {tokens} · score {span.score:+.2f} ({features})"


def _today_first(places: Iterable[Citation]) -> tuple[Citation, ...]:
    return tuple(sorted(places, key=lambda one: bool(one.commit)))


def _lines(of: Span | Finding) -> Citation:
    return Citation(of.path, of.start_line, of.end_line)


def _link(citation: Citation, locate: Locate) -> str:
    """A link, unless the lines are in no file of today."""
    uri = locate(citation).uri
    label = place(replace(citation, path=PurePosixPath(unquote(urlsplit(uri).path)).name))
    return code(label) if citation.commit else f"[{plain(label)}]({uri}#L{citation.start_line})"

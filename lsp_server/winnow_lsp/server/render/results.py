"""Answers, selections and edits as the JSON that docs/protocol.md describes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from lsprotocol import types
from pygls.workspace import PositionCodec

from winnow_engine.core import Citation, Kept, Sentence, Span
from winnow_engine.editing.changes import FileEdit, LineEdit
from winnow_engine.editing.proposing import Proposal
from winnow_engine.index.lines import Lines, text_lines
from winnow_engine.review.review import Review
from winnow_engine.selection.ranking import Selection
from winnow_engine.targets.answer import Answer
from winnow_lsp.host.reply import flat_stats, for_wire

Locate = Callable[[Citation | Span], types.Location]


@dataclass(frozen=True, slots=True)
class EditSupport:
    """A client's support for edits: any, and with versions."""

    applies: bool
    versions: bool

    @classmethod
    def of(cls, capabilities: types.ClientCapabilities) -> EditSupport:
        """As the client declares. One that takes operations on files takes document changes, declared or not."""
        workspace = capabilities.workspace
        edit = workspace.workspace_edit if workspace else None
        operations = (edit.resource_operations if edit else None) or ()
        return cls(
            applies=bool(workspace and workspace.apply_edit),
            versions=bool(edit and (edit.document_changes or operations)),
        )


def workspace_edit(
    edit: FileEdit, uri: str, version: int | None, support: EditSupport, codec: PositionCodec
) -> types.WorkspaceEdit:
    """The edit for a client."""
    edits = [types.TextEdit(types.Range(*_places(one, edit.before, codec)), one.text) for one in edit.edits]
    if not support.versions:
        return types.WorkspaceEdit(changes={uri: edits})
    identifier = types.OptionalVersionedTextDocumentIdentifier(uri, version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(identifier, edits)])


def _places(edit: LineEdit, data: bytes, codec: PositionCodec) -> Iterator[types.Position]:
    """The range of an edit: from line start to line start, or to the end of a last line without a line end."""
    lines = Lines(data)
    open_ended = bool(data) and not data.endswith((b"\n", b"\r"))
    for line in (edit.start_line - 1, edit.end_line):
        if line < lines.count or not open_ended:
            yield types.Position(line, 0)
        else:
            last = text_lines(data[slice(*lines.span(lines.count, lines.count))].decode("utf-8", "replace"))[0]
            yield types.Position(lines.count - 1, codec.client_num_units(last))


def answer_json(answer: Answer, locate: Locate) -> dict[str, Any]:
    """`AskResult`, less its conversation."""
    thinking = {} if answer.thought is None else {"thinking": asdict(answer.thought)}
    return {
        "answer": answer.text,
        **thinking,
        "finish": answer.finish,
        "sentences": [sentence_json(one, locate) for one in answer.sentences],
        "citations": [locate(citation) for citation in answer.citations if not citation.commit],
        **_before_json("citedBefore", answer.citations, locate),
        "spans": _spans_json(answer.spans, locate),
        "stats": for_wire(flat_stats(answer.stats)),
        "notices": list(answer.notices),
    }


def sentence_json(sentence: Sentence, locate: Locate) -> dict[str, Any]:
    """A `SentenceInfo`."""
    support = {} if sentence.support is None else {"support": sentence.support}
    return {
        "start": sentence.start,
        "end": sentence.end,
        "places": [locate(place) for place in sentence.places if not place.commit],
        **_before_json("placesBefore", sentence.places, locate),
        **support,
        "unknown": [{"start": start, "end": end} for start, end in sentence.unknown],
    }


def kept_json(kept: Kept, locate: Locate) -> dict[str, Any]:
    """The parameters of `winnow/kept`, less its token."""
    expected = {} if kept.seconds is None else {"seconds": round(kept.seconds, 1)}
    return {"spans": _spans_json(kept.spans, locate), **({"provisional": True} if kept.provisional else expected)}


def selection_json(selection: Selection, locate: Locate) -> dict[str, Any]:
    """The result of `winnow/spans`."""
    return {
        "spans": _spans_json(selection.spans, locate),
        "stats": for_wire(flat_stats(selection.stats)),
        "notices": list(selection.notices),
    }


def review_json(review: Review, locate: Locate) -> dict[str, Any]:
    """The result of the command `winnow.review`, less its page: also what clients show of any answer."""
    findings = [
        {
            "location": locate(Citation(one.path, one.start_line, one.end_line)),
            "reason": one.reason,
            "confidence": one.confidence,
            "rule": one.rule,
        }
        for one in review.findings
    ]
    files = [asdict(file) for file in review.files]
    said = {"title": review.title, "summary": review.summary, "unsupported": review.unsupported}
    as_answer = {"finish": "eos", "citations": [finding["location"] for finding in findings], "notices": []}
    return {**as_answer, **said, "files": files, "findings": findings}


def _before_json(name: str, citations: Iterable[Citation], locate: Locate) -> dict[str, Any]:
    """The cited lines that a change removed, each with the commit that has them; nothing if there are none."""
    found = [{"location": locate(citation), "commit": citation.commit} for citation in citations if citation.commit]
    return {name: found} if found else {}


def proposal_json(proposal: Proposal, locate: Locate) -> dict[str, Any]:
    """`EditResult`, less the edit."""
    path = proposal.edit.path
    rejected = {"rejected": f"{path} would no longer parse with this"} if proposal.sound is False else {}
    return {
        "title": proposal.title,
        "diff": proposal.edit.diff,
        "checked": bool(proposal.sound),
        **rejected,
        "spans": _spans_json(proposal.spans, locate),
        "notices": list(proposal.notices),
    }


def _spans_json(spans: Iterable[Span], locate: Locate) -> list[dict[str, Any]]:
    return [
        {
            "location": locate(span),
            "score": span.score,
            "features": dict(span.features),
            "tokens": span.tokens,
            "kind": span.kind.value,
            "name": span.name,
        }
        for span in spans
    ]

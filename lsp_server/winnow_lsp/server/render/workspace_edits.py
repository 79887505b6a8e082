"""An edit of the engine as a client takes it: with versions, and annotated where the client shows it before it acts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lsprotocol import types
from pygls.workspace import PositionCodec

from winnow_engine.editing.changes import FileEdit, LineEdit
from winnow_engine.index.lines import Lines, text_lines

_ANNOTATION = "winnow"


@dataclass(frozen=True, slots=True)
class EditSupport:
    """A client's support for edits: any, with versions, with annotations that ask the user."""

    applies: bool
    versions: bool
    confirms: bool

    @classmethod
    def of(cls, capabilities: types.ClientCapabilities) -> EditSupport:
        """As the client declares. One that takes operations on files takes document changes, declared or not."""
        workspace = capabilities.workspace
        edit = workspace.workspace_edit if workspace else None
        operations = (edit.resource_operations if edit else None) or ()
        return cls(
            applies=bool(workspace and workspace.apply_edit),
            versions=bool(edit and (edit.document_changes or operations)),
            confirms=bool(edit and edit.document_changes and edit.change_annotation_support),
        )


def workspace_edit(
    edit: FileEdit, uri: str, version: int | None, title: str, support: EditSupport, codec: PositionCodec
) -> types.WorkspaceEdit:
    """The edit for a client."""
    edits = list(_text_edits(edit, codec))
    if not support.versions:
        return types.WorkspaceEdit(changes={uri: edits})
    annotation = _ANNOTATION if support.confirms else None
    identifier = types.OptionalVersionedTextDocumentIdentifier(uri, version)
    change = types.TextDocumentEdit(identifier, _annotated(edits, annotation))
    annotations = {_ANNOTATION: types.ChangeAnnotation(title, needs_confirmation=True, description="Winnow")}
    return types.WorkspaceEdit(document_changes=[change], change_annotations=annotations if annotation else None)


def _annotated(
    edits: Sequence[types.TextEdit], annotation: str | None
) -> list[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit]:
    if annotation is None:
        return list(edits)
    return [types.AnnotatedTextEdit(annotation_id=annotation, range=e.range, new_text=e.new_text) for e in edits]


def _text_edits(edit: FileEdit, codec: PositionCodec) -> Iterator[types.TextEdit]:
    for one in edit.edits:
        yield types.TextEdit(types.Range(*_places(one, edit.before, codec)), one.text)


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

"""`winnow review`: a summary of a change and what may be wrong with it, or a commit message for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import click

from winnow_engine.changes.changed import NOTHING, Changes
from winnow_engine.changes.reading import read_changes
from winnow_engine.core import Cancellation
from winnow_engine.errors import NothingChangedError, TargetError
from winnow_engine.git.repository import open_repository
from winnow_engine.index.workspace import Workspace, read_workspace
from winnow_engine.question import Question
from winnow_engine.review.corrections import corrections, repetitions
from winnow_engine.review.findings import QUESTION
from winnow_engine.review.message import manner_of, message_of, message_question
from winnow_engine.review.review import Review, reviewed, sarif, unchanged
from winnow_engine.storage.store import Store, default_path
from winnow_lsp.cli import completion
from winnow_lsp.cli.ask import replies_to
from winnow_lsp.cli.in_process import sources_of
from winnow_lsp.cli.options import folders_of, json_option, server_option, workspaces_option
from winnow_lsp.cli.report import notice_lines
from winnow_lsp.cli.setting_options import setting_options
from winnow_lsp.cli.terminal import cancel_on_interrupt, show, show_json
from winnow_lsp.host.reply import Reply, check_answered


@click.command()
@click.argument("changes", required=False, metavar="[REV|RANGE]", shell_complete=completion.changes)
@click.option("--message", is_flag=True, help="Propose a commit message for the change [staged].")
@json_option
@click.option("--sarif", "as_sarif", is_flag=True, help="Print SARIF 2.1.0, for CI.")
@workspaces_option
@setting_options("budget", "drafter", "target")
@server_option
def review(changes: str | None, message: bool, as_json: bool, as_sarif: bool, server: bool, **options: Any) -> None:
    """Review what changed: `working` (what is not committed, the default), `staged`, `branch`, a commit or a range."""
    if as_sarif and (message or as_json):
        raise click.UsageError("--sarif goes with neither --json nor --message")
    asked = changes or ("staged" if message else "working")
    with cancel_on_interrupt() as cancellation:
        workspace, found = _read(options, asked, cancellation)
        manner = manner_of(open_repository(folders_of(options)[0].root, cancellation)) if message else None
    repeated = repetitions(found, workspace) if manner is None else []
    words = [QUESTION if manner is None else message_question(manner), *(one.question for one in repeated)]
    replies = _replies(asked, words, options | {"as_json": as_json or as_sarif}, server) if found.files else []
    if reply := replies[0] if replies else None:
        check_answered(reply.answer, reply.finish)
    if manner is not None:
        _show_message(message_of(reply.answer, manner) if reply else "", found, as_json)
        return
    corrected = corrections(repeated, (one.answer for one in replies[1:]))
    made = reviewed(reply.answer, found, workspace, corrected) if reply else unchanged(found.title)
    if as_sarif:
        show_json(sarif(made, version("winnow-lsp"), folders_of(options)), indent=2)
    elif as_json:
        show_json(asdict(made) | {"notices": list(reply.notices) if reply else []})
    else:
        show("\n".join(_lines(made)))
        for line in notice_lines(reply.notices, reply.stats) if reply else ():
            show(line, err=True)


def _replies(asked: str, words: Sequence[str], options: dict[str, Any], server: bool) -> list[Reply]:
    questions = [Question(text, changes=asked) for text in words]
    found: list[Reply] = []
    try:
        for reply, _ in replies_to(questions, options, server=server, notes=None):
            found.append(reply)
    except NothingChangedError:  # it was committed meanwhile
        if not found:
            raise
    return found


def _show_message(proposed: str, found: Changes, as_json: bool) -> None:
    if as_json:
        show_json({"message": proposed})
    elif proposed:
        show(proposed)
    elif not found.files:
        show(f"note: no message: {NOTHING}: {found.title}", err=True)
    if found.files and not proposed:
        raise TargetError("the target gave no message: ask again")


def _read(options: dict[str, Any], asked: str, cancellation: Cancellation) -> tuple[Workspace, Changes]:
    """The workspace and the change, read here: a finding is checked against what this process sees."""
    sources = sources_of(options)
    with closing(Store(default_path())) as store:
        workspace = read_workspace(sources, store, cancellation)
    return workspace, read_changes(sources, workspace, asked, cancellation)


def _lines(made: Review) -> Iterator[str]:
    yield f"{made.title}\n"
    for file in made.files:
        names = f": {', '.join(file.units[:6])}{' …' if len(file.units) > 6 else ''}" if file.units else ""
        yield f"  {file.path}  {file.what}  +{file.added} -{file.removed}{names}"
    if made.summary:
        yield f"\n{made.summary}"
    yield "\nFindings:" if made.findings else "\nNo findings."
    for finding in made.findings:
        last = "" if finding.end_line == finding.start_line else f"-{finding.end_line}"
        yield f"  {finding.path}:{finding.start_line}{last}  {finding.confidence}  {finding.reason}"
    if made.unsupported:
        yield f"\n({made.unsupported} more named no line that exists, and were left out)"

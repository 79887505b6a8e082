"""`winnow ask`, a question answered as a stream, and `winnow spans`, the code that would be kept for one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, replace
from typing import Any

import click

from winnow_engine.core import Folder
from winnow_engine.errors import CancelledError, WorkspaceError
from winnow_engine.question import Question, Turn
from winnow_lsp.cli.local_servers import with_target
from winnow_lsp.cli.options import folders_of, json_option, place_options, question_of, server_option, workspaces_option
from winnow_lsp.cli.report import ProgressView, notice_lines, spans_lines, stats_line
from winnow_lsp.cli.setting_options import config_of, setting_options, shared
from winnow_lsp.cli.shared_server import answered
from winnow_lsp.cli.terminal import can_raise, cancel_on_interrupt, is_interactive, show, show_json
from winnow_lsp.client.connection import Listener
from winnow_lsp.host.footnotes import FootnoteStream, bracketed, raised
from winnow_lsp.host.reply import Reply, check_answered, thought_line

_NAMESPACE = "conversation-1"  # as that of the conversations' prompts, which have keys of another kind
_MOST_KEPT = 200_000  # characters, several times what a target's context holds
_question_options = shared(click.argument("question", required=False), workspaces_option, place_options, json_option)


def last_turns(options: Mapping[str, Any]) -> tuple[Turn, ...]:
    """The latest turns of the last conversation about a command's workspace. A usage error if there are none."""
    from winnow_engine.storage.store import Store, default_path

    key = _key(folders_of(options))
    with closing(Store(default_path())) as store:
        record = store.get(_NAMESPACE, [key]).get(key)
    if record is None:
        raise click.UsageError("there is no conversation about this workspace to continue: ask without -c first")
    turns = tuple(Turn(**turn) for turn in json.loads(record["json"].tobytes()))
    if not turns:
        raise click.UsageError(f"the last question and answer have over {_MOST_KEPT:,} characters: ask without -c")
    return turns


def keep_turns(asked: Question, answer: str, options: Mapping[str, Any]) -> None:
    """Keep the latest turns after a question was answered, if the settings let any be kept."""
    import numpy as np

    from winnow_engine.prompting.layout import with_latest_turns
    from winnow_engine.storage.store import Store, default_path

    if not config_of(options).models.keeps_prompts:
        return
    whole = replace(asked, earlier=(*asked.earlier, Turn(asked.text, answer)))
    turns = with_latest_turns(whole, _MOST_KEPT, len).earlier
    document = np.frombuffer(json.dumps([asdict(turn) for turn in turns]).encode(), np.uint8)
    with suppress(WorkspaceError), closing(Store(default_path())) as store:
        store.put(_NAMESPACE, _key(folders_of(options)), {"json": document})


def _key(folders: Sequence[Folder]) -> str:
    roots = json.dumps(sorted(str(folder.root) for folder in folders))
    return hashlib.blake2b(roots.encode(), digest_size=20).hexdigest()


@click.command()
@_question_options
@click.option("-c", "--continue", "continues", is_flag=True, help="Continue the last conversation about the workspace.")
@click.option("--show-spans", is_flag=True, help="Print the spans that were kept.")
@setting_options("budget", "drafter", "target")
@server_option
def ask(question: str | None, continues: bool, show_spans: bool, server: bool, **options: Any) -> None:
    """Answer QUESTION about the workspace, or offer questions to begin with.

    Piped text belongs to the question; in a loop over a pipe, add </dev/null.
    """
    if is_interactive() and not (question or continues or any(options[name] for name in ("as_json", "at", "changes"))):
        question = chosen_question(options)
    asked = question_of(question, options, reads_input=True)
    if continues:
        asked = replace(asked, earlier=last_turns(options))
    show_answer(asked, options, show_spans=show_spans, server=server, keeps=True)


def chosen_question(options: Mapping[str, Any]) -> str:
    """One of the questions to begin with about a command's workspace, chosen on the terminal, or one typed there."""
    from winnow_engine.index.workspace import read_workspace
    from winnow_engine.selection.starters import starter_questions
    from winnow_engine.storage.store import Store, default_path
    from winnow_lsp.cli.in_process import sources_of

    with closing(Store(default_path())) as store, cancel_on_interrupt() as cancellation, ProgressView():
        found = starter_questions(read_workspace(sources_of(options), store, cancellation), cancellation)
    for number, text in enumerate(found, 1):
        show(f"  {number}  {text}", err=True)

    def chosen(said: str) -> str:
        if said.strip().isdecimal() and not 0 < int(said) <= len(found):
            raise click.UsageError(f"there are {len(found)} questions")
        return found[int(said) - 1] if said.strip().isdecimal() else said

    return str(click.prompt("A number, or your own question", value_proc=chosen, err=True))


def show_answer(
    asked: Question, options: dict[str, Any], *, show_spans: bool, server: bool, keeps: bool = False
) -> None:
    """Have a question answered by the shared server or here, and print the answer as it comes.

    `keeps` keeps the turn for a follow-up, also if it is stopped once a part was shown. TargetError without an answer.
    """
    notes = None if options["as_json"] else FootnoteStream(raised if can_raise() else bracketed)
    try:
        [(reply, by_server)] = replies_to([asked], options, server=server, notes=notes)
    except (CancelledError, KeyboardInterrupt):
        if keeps and notes is not None and notes.text:
            keep_turns(asked, notes.text, options)
        raise
    if notes is None:
        show_json(asdict(reply))
    else:
        _print(reply, *notes.lines(reply.sentences, reply.citations), show_spans, by_server)
    check_answered(reply.answer, reply.finish, "ask again, or in other words")
    if keeps:
        keep_turns(asked, reply.answer, options)


def replies_to(
    asked: Sequence[Question], options: dict[str, Any], *, server: bool, notes: FootnoteStream | None
) -> Iterator[tuple[Reply, bool]]:
    """The reply to each question, printed with `notes` as it comes, and whether the shared server gave it."""
    options, streamed = with_target(options), False
    with cancel_on_interrupt() as cancellation, ProgressView(options["as_json"]) as view:

        def stream(text: str) -> None:
            nonlocal streamed
            if notes is not None:
                view.stop()
                show(notes.feed(text), nl=False)
                streamed = True

        listener = Listener(stream, view.kept, view.say)
        try:
            for number, found in enumerate(answered(asked, options, server, listener, cancellation), 2):
                yield found
                view.part = f"{number} of {len(asked)}: "
        finally:
            if streamed and notes is not None:  # an error, too, is to begin a line of its own
                show(notes.end())


def _print(reply: Reply, cited: Sequence[str], notes: Sequence[str], show_spans: bool, by_server: bool) -> None:
    if reply.thinking is not None:
        click.secho(f"\n{thought_line(reply.thinking)}", dim=True)
    if reply.finish == "length" and reply.answer.strip():
        click.echo("\n(cut off: raise the setting maxTokens for a longer answer)")
    for title, lines in (("Cited", cited), ("Notes", notes), ("Kept", spans_lines(reply.spans) if show_spans else [])):
        if lines:
            click.echo(f"\n{title}:")
            show("\n".join(f"  {line}" for line in lines))
    for line in notice_lines(reply.notices, reply.stats, by_server=by_server):
        show(line, err=True)
    click.echo(f"\n{stats_line(reply.stats)}", err=True)


@click.command()
@_question_options
@setting_options("budget", "drafter")
def spans(question: str | None, **options: Any) -> None:
    """Show which code would be kept for QUESTION, the best first."""
    from winnow_lsp.cli.in_process import assistant, sources_of
    from winnow_lsp.host.reply import flat_stats

    asked = question_of(question, options, reads_input=True)
    config, as_json = config_of(options), options["as_json"]
    with cancel_on_interrupt() as cancellation, assistant(config) as helper, ProgressView(as_json) as view:
        selection = helper.select(sources_of(options), asked, config.budget, view, cancellation)
    best_first, stats = sorted(selection.spans, key=lambda span: -span.score), flat_stats(selection.stats)
    if as_json:
        listed = {"citations": [], "spans": [asdict(span) for span in best_first], "stats": stats}
        show_json(listed | {"notices": list(selection.notices)})
        return
    show("\n".join(spans_lines(best_first)))
    for line in notice_lines(selection.notices, stats):
        show(line, err=True)
    click.echo(f"\n{stats_line(stats)}", err=True)

"""`winnow ask`: a question about a repository, answered as a stream."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from winnow_engine.question import Question
from winnow_lsp.cli.interrupts import cancel_on_interrupt
from winnow_lsp.cli.last_conversation import keep_turns, last_turns
from winnow_lsp.cli.local_servers import with_target
from winnow_lsp.cli.options import json_option, place_options, question_of, server_option, workspaces_option
from winnow_lsp.cli.progress import ProgressView
from winnow_lsp.cli.report import notice_lines, spans_lines, stats_line
from winnow_lsp.cli.setting_options import setting_options
from winnow_lsp.cli.shared_server import answered
from winnow_lsp.cli.terminal import show, show_json
from winnow_lsp.client.asking import Listener
from winnow_lsp.host.reply import Reply, place
from winnow_lsp.host.waiting import thought_line


@click.command()
@click.argument("question", required=False)
@workspaces_option
@place_options
@click.option("-c", "--continue", "continues", is_flag=True, help="Continue the last conversation about the workspace.")
@click.option("--show-spans", is_flag=True, help="Print the spans that were kept.")
@json_option
@setting_options("budget", "drafter", "target")
@server_option
def ask(question: str | None, continues: bool, show_spans: bool, server: bool, **options: Any) -> None:
    """Answer QUESTION about the repositories in the workspace.

    What is piped in belongs to the question.
    """
    asked = question_of(question, options, reads_input=True)
    if continues:
        asked = replace(asked, earlier=last_turns(options))
    reply = show_answer(asked, options, show_spans=show_spans, server=server)
    keep_turns(asked, reply.answer, options)


def show_answer(asked: Question, options: dict[str, Any], *, show_spans: bool, server: bool) -> Reply:
    """Have a question answered by the shared server or here, and print the answer as it comes."""
    as_json, options = options["as_json"], with_target(options)
    streamed = False
    with cancel_on_interrupt() as cancellation, ProgressView(as_json) as view:

        def stream(text: str) -> None:
            nonlocal streamed
            view.stop()
            show(text, nl=False)
            streamed = True

        listener = Listener((lambda _: None) if as_json else stream, view.kept, view.say, view.think)
        try:
            reply, by_server = answered(asked, options, server, listener, view, cancellation)
        finally:
            if streamed:  # an error, too, is to begin a line of its own
                click.echo()
    if as_json:
        show_json(reply.as_json())
    else:
        _print(reply, show_spans, by_server)
    return reply


def _print(reply: Reply, show_spans: bool, by_server: bool) -> None:
    if reply.thinking is not None:
        click.secho(f"\n{thought_line(reply.thinking)}", dim=True)
    if reply.finish == "length":
        click.echo("\n(cut off: raise the setting maxTokens for a longer answer)")
    for title, lines in (
        ("Cited", [place(citation) for citation in reply.citations]),
        ("Kept", spans_lines(reply.spans) if show_spans else []),
    ):
        if lines:
            click.echo(f"\n{title}:")
            show("\n".join(f"  {line}" for line in lines))
    for line in notice_lines(reply.notices, reply.stats, by_server=by_server):
        show(line, err=True)
    click.echo(f"\n{stats_line(reply.stats)}", err=True)

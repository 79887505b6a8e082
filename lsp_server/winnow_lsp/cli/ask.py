"""`winnow ask`: a question about a repository, answered as a stream."""

from __future__ import annotations

import json
from typing import Any

import click

from winnow_engine.assistant import Answer
from winnow_lsp.cli.options import (
    config_of,
    drafter_option,
    question_of,
    sampling_options,
    selection_options,
    sources_of,
    target_options,
    workspace_options,
)
from winnow_lsp.cli.progress import ProgressView
from winnow_lsp.cli.report import citations_json, place, spans_json, spans_lines, stats_line
from winnow_lsp.cli.session import assistant, cancel_on_interrupt
from winnow_lsp.host.stats import flat_stats


@click.command()
@click.argument("question")
@workspace_options
@selection_options
@click.option("--show-spans", is_flag=True, help="Print the spans that were kept.")
@drafter_option
@target_options
@sampling_options
def ask(question: str, show_spans: bool, **options: Any) -> None:
    """Answer QUESTION about the repository in the workspace."""
    asked, config, as_json = question_of(question, options), config_of(options), options["as_json"]
    with (
        cancel_on_interrupt() as cancellation,
        assistant(config.models, answers=True) as helper,
        ProgressView(as_json) as view,
    ):

        def show(text: str) -> None:
            view.stop()
            click.echo(text, nl=False)

        on_text = (lambda _: None) if as_json else show
        answer = helper.ask(
            sources_of(options), asked, config.budget, config.sampling, on_text, view, cancellation, view.kept
        )
    if as_json:
        click.echo(json.dumps(_document(answer), ensure_ascii=False))
    else:
        _print(answer, show_spans)


def _document(answer: Answer) -> dict[str, Any]:
    return {
        "answer": answer.text,
        "citations": citations_json(answer.citations),
        "spans": spans_json(answer.spans),
        "stats": flat_stats(answer.stats),
        "finish": answer.finish,
        "notices": list(answer.notices),
    }


def _print(answer: Answer, show_spans: bool) -> None:
    click.echo()
    if answer.finish == "length":
        click.echo("\n(cut off: raise --max-tokens for a longer answer)")
    for title, lines in (
        ("Cited", [place(citation) for citation in answer.citations]),
        ("Kept", spans_lines(answer.spans) if show_spans else []),
    ):
        if lines:
            click.echo(f"\n{title}:")
            click.echo("\n".join(f"  {line}" for line in lines))
    for notice in answer.notices:
        click.echo(f"note: {notice}", err=True)
    click.echo(f"\n{stats_line(answer.stats)}")

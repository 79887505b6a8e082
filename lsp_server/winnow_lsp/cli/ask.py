"""`winnow ask`: a question about a repository, answered as a stream."""

from __future__ import annotations

import json
from typing import Any

import click

from winnow_engine.assistant import Answer
from winnow_engine.core import Sampling
from winnow_lsp.cli.options import (
    budget_of,
    drafter_option,
    question_of,
    selection_options,
    shared,
    sources_of,
    target_options,
    usage_errors,
    workspace_options,
)
from winnow_lsp.cli.progress import ProgressView
from winnow_lsp.cli.report import citations_json, place, spans_json, spans_lines, stats_json, stats_line
from winnow_lsp.cli.session import assistant, cancel_on_interrupt

_DEFAULTS = Sampling()

_sampling_options = shared(
    click.option(
        "--max-tokens",
        type=click.IntRange(1),
        default=_DEFAULTS.max_tokens,
        show_default=True,
        help="Longest answer.",
    ),
    click.option(
        "--temperature",
        type=click.FloatRange(0),
        default=_DEFAULTS.temperature,
        show_default=True,
        help="0 is greedy.",
    ),
    click.option("--top-p", type=click.FloatRange(0, 1, min_open=True), default=_DEFAULTS.top_p, show_default=True),
    click.option("--seed", type=click.IntRange(0, 2**32 - 2), default=_DEFAULTS.seed, show_default=True),
)


@click.command()
@click.argument("question")
@workspace_options
@selection_options
@click.option("--show-spans", is_flag=True, help="Print the spans that were kept.")
@drafter_option
@target_options
@_sampling_options
def ask(question: str, show_spans: bool, **options: Any) -> None:
    """Answer QUESTION about the repository in the workspace."""
    asked = question_of(question, options)
    budget, sampling = budget_of(options), _sampling_of(options)
    as_json = options["as_json"]
    with (
        cancel_on_interrupt() as cancellation,
        assistant(options, target=True) as helper,
        ProgressView(as_json) as view,
    ):

        def show(text: str) -> None:
            view.stop()
            click.echo(text, nl=False)

        on_text = (lambda _: None) if as_json else show
        answer = helper.ask(sources_of(options), asked, budget, sampling, on_text, view, cancellation)
    if as_json:
        click.echo(json.dumps(_document(answer), ensure_ascii=False))
    else:
        _print(answer, show_spans)


def _sampling_of(options: dict[str, Any]) -> Sampling:
    with usage_errors():
        return Sampling(options["temperature"], options["top_p"], options["seed"], options["max_tokens"])


def _document(answer: Answer) -> dict[str, Any]:
    return {
        "answer": answer.text,
        "citations": citations_json(answer.citations),
        "spans": spans_json(answer.spans),
        "stats": stats_json(answer.stats),
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

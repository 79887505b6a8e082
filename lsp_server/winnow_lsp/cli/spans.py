"""`winnow spans`: what `ask` would show the target."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from winnow_lsp.cli.in_process import assistant, sources_of
from winnow_lsp.cli.options import json_option, place_options, question_of, workspaces_option
from winnow_lsp.cli.report import ProgressView, notice_lines, spans_lines, stats_line
from winnow_lsp.cli.setting_options import config_of, setting_options
from winnow_lsp.cli.terminal import cancel_on_interrupt, show, show_json
from winnow_lsp.host.stats import flat_stats


@click.command()
@click.argument("question", required=False)
@workspaces_option
@place_options
@json_option
@setting_options("budget", "drafter")
def spans(question: str | None, **options: Any) -> None:
    """Show which code would be kept for QUESTION, the best first."""
    asked = question_of(question, options, reads_input=True)
    config, as_json = config_of(options), options["as_json"]
    with (
        cancel_on_interrupt() as cancellation,
        assistant(config, answers=False) as helper,
        ProgressView(as_json) as view,
    ):
        selection = helper.select(sources_of(options), asked, config.budget, view, cancellation)
    best_first = sorted(selection.spans, key=lambda span: -span.score)
    if as_json:
        document = {
            "citations": [],
            "spans": [asdict(span) for span in best_first],
            "stats": flat_stats(selection.stats),
        }
        show_json(document | {"notices": list(selection.notices)})
        return
    show("\n".join(spans_lines(best_first)))
    stats = flat_stats(selection.stats)
    for line in notice_lines(selection.notices, stats):
        show(line, err=True)
    click.echo(f"\n{stats_line(stats)}", err=True)

"""`winnow why`: the commits that made some lines what they are, and their reasons."""

from __future__ import annotations

from typing import Any

import click

from winnow_engine.core import ABOUT_WHY, WHY
from winnow_lsp.cli.ask import show_answer
from winnow_lsp.cli.options import (
    budget_options,
    drafter_option,
    question_of,
    sampling_options,
    server_option,
    target_options,
    workspaces_options,
)


@click.command()
@click.argument("place", metavar="FILE:LINE[-LINE]")
@click.argument("question", default=ABOUT_WHY, metavar="[QUESTION]")
@workspaces_options
@budget_options
@click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON object.")
@drafter_option
@target_options
@sampling_options
@server_option
def why(place: str, question: str, server: bool, **options: Any) -> None:
    """Say why the code at FILE:LINE is so, from the commits that shaped it.

    A single line stands for the function, class or section around it. With QUESTION, answer that from the same commits.
    """
    asked = question_of(question, options | {"at": place, "changes": WHY})
    show_answer(asked, options, show_spans=False, server=server)

"""`winnow why`: the commits that made some lines what they are, and their reasons."""

from __future__ import annotations

from typing import Any

import click

from winnow_engine.question import ABOUT_WHY, WHY
from winnow_lsp.cli.ask import show_answer
from winnow_lsp.cli.completion import files
from winnow_lsp.cli.options import past_options, question_of


@click.command()
@click.argument("place", metavar="FILE:LINE[-LINE]", shell_complete=files)
@click.argument("question", default=ABOUT_WHY, metavar="[QUESTION]")
@past_options
def why(place: str, question: str, server: bool, **options: Any) -> None:
    """Say why the code at FILE:LINE is so, from the commits that shaped it.

    A single line stands for the function, class or section around it. With QUESTION, answer that from the same commits.
    """
    asked = question_of(question, options | {"at": place, "changes": WHY})
    show_answer(asked, options, show_spans=False, server=server)

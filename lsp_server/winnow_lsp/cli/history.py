"""`winnow why` and `winnow when`: the commits that made some lines what they are, or in which something changed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from winnow_engine.core import day
from winnow_engine.question import ABOUT_WHEN, ABOUT_WHY, WHEN, WHY
from winnow_lsp.cli.ask import show_answer
from winnow_lsp.cli.completion import files
from winnow_lsp.cli.options import past_options, question_of
from winnow_lsp.cli.terminal import cancel_on_interrupt, show

if TYPE_CHECKING:
    from winnow_engine.history.finding import FoundCommit


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


@click.command()
@click.argument("question", default=ABOUT_WHEN, metavar="[QUESTION]")
@click.option(
    "-n",
    "--commits",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Only list the N commits that fit best, newest first, without asking a model.",
)
@past_options
def when(question: str, commits: int | None, server: bool, **options: Any) -> None:
    """Say when something changed, from the repository's commits.

    Commits are found by their messages, and by the files and names that QUESTION has. Without QUESTION, say what
    changed lately.
    """
    if commits is not None:
        _list(question, commits, options)
        return
    asked = question_of(question, options | {"at": None, "changes": WHEN})
    show_answer(asked, options, show_spans=False, server=server)


def _list(question: str, most: int, options: dict[str, Any]) -> None:
    from winnow_engine.history.question import answering_commits
    from winnow_lsp.cli.in_process import sources_of

    with cancel_on_interrupt() as cancellation:
        found = answering_commits(sources_of(options), question, cancellation, most)
    if options["as_json"]:
        listed = [_as_json(one, history.folder.name) for one, history in found.commits]
        click.echo(json.dumps({"commits": listed, "fits": found.fits, "notices": list(found.notices)}))
        return
    if not found.fits:
        click.echo("winnow: no commit has a word of the question; these are the newest", err=True)
    for notice in found.notices:
        show(f"winnow: {notice}", err=True)
    for one, _ in found.commits:
        show(f"{one.commit.id[:10]} {day(one.commit.committed_at)} {one.commit.subject} ({one.commit.author})")


def _as_json(one: FoundCommit, folder: str) -> dict[str, Any]:
    commit = one.commit
    told = {"id": commit.id, "date": day(commit.committed_at), "author": commit.author, "message": commit.message}
    return told | {"score": round(one.score, 3), "folder": folder}

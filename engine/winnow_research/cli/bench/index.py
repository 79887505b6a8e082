"""`winnow bench index`: how fast a workspace is indexed, what that takes, and how long questions wait."""

from __future__ import annotations

import json
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from winnow_cuda.device import availability
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.index.parse_pool import open_parse_pool
from winnow_engine.models.cache import locate
from winnow_lsp.cli.setting_options import drafter_option
from winnow_lsp.cli.terminal import cancel_on_interrupt
from winnow_research.cli.bench.shared import parse_sizes, say, writing
from winnow_research.indexing.material import existing, written
from winnow_research.indexing.tables import lines
from winnow_research.indexing.timeline import Timeline
from winnow_research.machine import describe


@click.command()
@click.option("--sizes", default="100k,1m", show_default=True, callback=parse_sizes, help="Tokens, about.")
@click.option(
    "--tree",
    "trees",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Index this folder instead; a file in it is changed for a moment.",
)
@click.option("--repetitions", type=click.IntRange(1), default=5, show_default=True, help="Of what is short.")
@drafter_option
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write JSON here after each folder.")
@click.option("--json", "as_document", is_flag=True, help="Print exactly one JSON object.")
def index(
    sizes: list[int], trees: tuple[Path, ...], repetitions: int, drafter: str, out: Path | None, as_document: bool
) -> None:
    """How fast a workspace is indexed, what that takes, and how long questions wait.

    Workspaces are pinned repositories, fetched on first use, one after the other.
    """
    file = locate(drafter)
    folders = list[dict[str, Any]]()
    machine = {**describe(), "device": availability().reason}
    document: dict[str, Any] = {"machine": machine, "drafter": file.name, "folders": folders}
    with cancel_on_interrupt() as cancellation, closing(open_parse_pool()) as parse_pool:
        loaded = Drafter(file)
        timeline = Timeline(loaded, parse_pool, repetitions, say, cancellation)
        _warm_up(timeline)
        for what in trees or sizes:
            say(f"{what:,} tokens" if isinstance(what, int) else f"{what}")
            with tempfile.TemporaryDirectory() as folder:
                material = written(what, Path(folder)) if isinstance(what, int) else existing(what)
                folders.append({"what": what if isinstance(what, int) else what.name, **timeline.measure(material)})
            _shown(document, "\n".join(lines(folders[-1])), out, as_document)
    if as_document:
        click.echo(json.dumps(document, indent=2))


def _warm_up(timeline: Timeline) -> None:
    """Compile what is compiled once on a machine."""
    with tempfile.TemporaryDirectory() as folder:
        timeline.warm_up(written(2000, Path(folder)))


def _shown(document: dict[str, Any], text: str, out: Path | None, as_document: bool) -> None:
    if out is not None:
        with writing(out):
            out.write_text(f"{json.dumps(document, indent=2)}\n", encoding="utf-8")
    if not as_document:
        say("")
        click.echo(text)

"""`winnow bench`: how good and how fast Winnow is, measured where it runs."""

import click

from winnow_research.cli.bench.answers import answers
from winnow_research.cli.bench.decode import decode
from winnow_research.cli.bench.needles import needles
from winnow_research.cli.bench.relevance import relevance
from winnow_research.cli.bench.speed import drafter, kernels


@click.group()
def bench() -> None:
    """Measure Winnow: what it keeps, how fast the target decodes, and how fast the kernels are."""


bench.add_command(relevance)
bench.add_command(needles)
bench.add_command(answers)
bench.add_command(decode)
bench.add_command(kernels)
bench.add_command(drafter)

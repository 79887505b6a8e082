"""`winnow bench`: its subcommands are there, and its help is quick."""

import subprocess
import sys

import click

from winnow_research.cli.bench import bench


def test_every_benchmark_can_be_loaded_by_its_name() -> None:
    context = click.Context(bench)
    for name in bench.list_commands(context):
        command = bench.get_command(context, name)
        assert command is not None
        assert command.name == name
    assert bench.get_command(context, "luck") is None


def test_help_does_not_wait_for_numpy() -> None:
    script = "import sys, winnow_research.cli.bench; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0

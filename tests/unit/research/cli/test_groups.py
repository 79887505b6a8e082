"""`winnow bench` and `winnow train`: their subcommands are there, and their help is quick."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

from winnow_research.cli.bench import bench
from winnow_research.cli.train import train

groups = pytest.mark.parametrize("group", [bench, train], ids=lambda group: group.name)


@groups
def test_every_subcommand_can_be_loaded_by_its_name(group: click.Group) -> None:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        assert command.name == name
    assert group.get_command(context, "luck") is None


@groups
def test_every_command_of_its_modules_is_a_subcommand(group: click.Group) -> None:
    package = import_module(f"winnow_research.cli.{group.name}")
    modules = [import_module(f"{package.__name__}.{path.stem}") for path in Path(package.__path__[0]).glob("[a-z]*.py")]
    found = {value.name for module in modules for value in vars(module).values() if isinstance(value, click.Command)}
    assert found - {group.name} == set(group.list_commands(click.Context(group)))


@groups
def test_help_waits_for_neither_numpy_nor_pytorch(group: click.Group) -> None:
    script = f"import sys, winnow_research.cli.{group.name}; sys.exit(bool({{'numpy', 'torch'}} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0

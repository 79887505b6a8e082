"""Options are made from the table of settings, and read back into the same configuration."""

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from winnow_engine.config import Config
from winnow_engine.core import Budget, Sampling
from winnow_lsp.cli.options import (
    config_of,
    drafter_option,
    given_settings,
    sampling_options,
    selection_options,
    target_options,
)
from winnow_lsp.host.settings import Settings


def parsed(*arguments: str) -> tuple[Config | None, str]:
    """What a command with all options makes of some arguments, and what it says on stderr."""
    found: list[Config] = []

    @click.command()
    @selection_options
    @drafter_option
    @target_options
    @sampling_options
    def command(**options: Any) -> None:
        found.append(config_of(options))

    result = CliRunner().invoke(command, arguments)
    return (found[0] if found else None), result.output


def test_without_options_the_configuration_is_the_default() -> None:
    assert parsed() == (Settings(), "")


def test_options_reach_their_place() -> None:
    config, _ = parsed("--budget", "500", "--kv-type", "q8_0", "--seed", "3", "--target-context", "8192")
    assert config is not None
    assert (config.budget, config.sampling) == (Budget(500, first_look_tokens=8000), Sampling(seed=3))
    assert (config.models.kv_type, config.models.target_context) == ("q8_0", 8192)


def test_auto_is_a_budget() -> None:
    config, _ = parsed("--budget", "auto", "--speculate", "auto")
    assert config == Settings()


@pytest.mark.parametrize(
    "arguments",
    [("--budget", "0"), ("--kv-type", "f64"), ("--top-p", "0"), ("--seed", "-1"), ("--seed", str(2**32 - 1))],
)
def test_what_no_setting_allows_is_refused(arguments: tuple[str, str]) -> None:
    config, said = parsed(*arguments)
    assert config is None
    assert arguments[0] in said


def test_a_budget_says_that_it_may_be_auto_too() -> None:
    assert "INTEGER RANGE|auto" in parsed("--help")[1]
    assert "'AUTO' is not a valid integer range, nor auto." in parsed("--budget", "AUTO")[1]


def test_the_old_name_of_an_option_still_works_with_a_notice() -> None:
    config, said = parsed("--draft", "off")
    assert config is not None
    assert config.models.speculate == "off"
    assert "--draft is now called --speculate" in said


@pytest.mark.parametrize("model", ["smollm2-135m", "http://127.0.0.1:1/v1", "./here", "here"])
def test_only_what_names_a_file_becomes_a_path(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("auto", "here", "smollm2-135m", "http:/127.0.0.1:1/v1"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    given = given_settings({"drafter": model, "target": model, "speculate": "auto"})
    expected = str(tmp_path / "here") if "here" in model else model
    assert given == {"drafter": expected, "target": expected, "speculate": "auto"}

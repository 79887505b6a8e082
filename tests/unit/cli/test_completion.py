"""What Tab completes, and `winnow help`."""

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from winnow_engine.models.target_table import known_targets
from winnow_lsp.cli.main import COMPLETES, main, winnow


@pytest.fixture(autouse=True)
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COMPLETES, "bash_complete")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "winnow").mkdir()
    (tmp_path / "winnow" / "workspaces.toml").write_text('[backend]\nfolders = ["~/api"]\n')


QWEN = ["qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"]
QWEN += [target.name for target in known_targets() if target.source and target.name.startswith("q")]


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("m", ["mcp", "models"]),
        ("mcp i", ["install"]),
        ("mcp install cod", ["codex"]),
        ("mcp --t", ["--target"]),
        ("models r", ["remove"]),
        ("models pull q", QWEN),
        ("models path q", QWEN),
        ("models remove q", QWEN),
        ("ask --target q", QWEN),
        ("spans --drafter q", QWEN[:1]),
        ("ask --target ./q", ["file:./q"]),
        ("ask -w s", ["dir:s"]),
        ("ask -w @b", ["@backend"]),
        ("mcp -w s", ["dir:s"]),
        ("index --explain s", ["file:s"]),
        ("ask --at s", ["file:s"]),
        ("why s", ["file:s"]),
        ("ask --set pat", ["patience="]),
        ("ask --set kvType=q", ["kvType=q8_0", "kvType=q4_0"]),
        ("ask --changes st", ["staged"]),
        ("spans --changes=b", ["branch"]),
        ("review w", ["working"]),
        ("ask --con", ["--continue"]),
        ("help w", ["why", "when"]),
    ],
)
def test_tab_completes(line: str, completed: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    *words, incomplete = line.split()
    found = ShellComplete(winnow, {}, "winnow", COMPLETES).get_completions(words, incomplete)
    assert [one.value if one.type == "plain" else f"{one.type}:{one.value}" for one in found] == completed
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("arguments", [["help"], ["help", "models"], ["help", "models", "pull"]])
def test_help_is_that_of_the_command(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(COMPLETES)
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert main([*arguments[1:], "--help"]) == 0
    assert shown == capsys.readouterr().out
    assert main(["help", "nonsense"]) == 2
    assert main(["-V"]) == 0

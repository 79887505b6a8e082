"""`winnow mcp install` and `uninstall` as commands: what they print, write and refuse."""

import json
from pathlib import Path

import pytest

from winnow_lsp.cli.main import main
from winnow_lsp.mcp.setup.clients import Client


def test_the_commands(path: Path, name: str, client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "install", name, "--print"]) == 0
    printed = capsys.readouterr()
    assert f"{path} needs" in printed.err
    assert not path.exists()
    assert main(["mcp", "install", name]) == 0
    assert f"{client.title} has Winnow now, in {path}" in capsys.readouterr().out
    assert path.read_text() == printed.out
    assert main(["mcp", "install", name]) == 0
    assert "has Winnow already" in capsys.readouterr().out
    assert main(["mcp", "uninstall", name]) == 0
    assert "does not have Winnow any more: removed the file" in capsys.readouterr().out
    assert main(["mcp", "uninstall", name]) == 0
    assert "does not have Winnow." in capsys.readouterr().out
    path.write_text("{")
    assert main(["mcp", "install", name]) == 1
    assert "left as it is" in capsys.readouterr().err


def test_a_project_is_the_folder_one_is_in(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "install", "cursor", "--project"]) == 0
    assert json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"].keys() == {"winnow"}
    assert f"{home / '.cursor'} did not exist and was made" in capsys.readouterr().err


def test_the_folder_of_a_shared_index_is_found_from_anywhere(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shared = [f"--shared-index={one}" for one in ("team", "~/other", "https://example.org/index")]
    assert main(["mcp", "install", "gemini", "--print", *shared]) == 0
    [server] = json.loads(capsys.readouterr().out)["mcpServers"].values()
    places = [home / "team", home / "other", "https://example.org/index"]
    assert server["args"][1:] == [f"--shared-index={place}" for place in places]


def test_a_folder_that_is_not_there_is_not_served(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--http", "0", "--workspace", "nowhere"]) == 4
    assert "there is no folder nowhere" in capsys.readouterr().err


def test_options_are_written_so_that_they_work_from_any_folder(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "model.gguf").touch()
    models = ["--drafter", "smollm2-135m", "--target", "model.gguf", "--draft", "none"]
    files = ["-w", ".", "--exclude", "install", "--exclude", "--http"]
    assert main(["mcp", "install", "gemini", "--print", *models, *files, "--no-server", "--seed", "0"]) == 0
    [server] = json.loads(capsys.readouterr().out)["mcpServers"].values()
    command, *arguments = server["args"]
    assert command == "mcp"
    assert sorted(arguments) == sorted(
        [
            "--drafter=smollm2-135m",
            f"--target={home / 'model.gguf'}",
            "--speculate=none",
            f"--workspace={home}",
            "--exclude=install",
            "--exclude=--http",
            "--no-server",
            "--seed=0",
        ]
    )


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["install", "emacs"], "'emacs' is not one of"),
        (["install", "codex", "--max-tokens", "0"], "--max-tokens"),
        (["install", "codex", "--http", "1"], "No such option"),
        (["--no-server", "install", "codex"], "--no-server goes behind `install`"),
        (["--drafter", "x", "uninstall", "codex"], "--drafter goes behind `uninstall`"),
    ],
)
def test_bad_usage_writes_nothing(
    home: Path, arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mcp", *arguments]) == 2
    assert why in capsys.readouterr().err
    assert list(home.iterdir()) == []

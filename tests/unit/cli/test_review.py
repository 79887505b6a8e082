"""`winnow review` where nothing changed, for which no model is asked, and where questions end in the middle."""

import json
from pathlib import Path
from typing import Any

import click
import git_repositories as git
import pytest
from click.testing import CliRunner

from winnow_engine.errors import NothingChangedError, TargetError
from winnow_engine.question import Question
from winnow_lsp.cli import ask
from winnow_lsp.cli.review import review
from winnow_lsp.cli.shared_server import AnsweringServer
from winnow_lsp.host.reply import Reply


@pytest.mark.parametrize("changes", [[], ["staged"], ["branch"], ["HEAD..HEAD"]])
@pytest.mark.parametrize("form", [None, "--json", "--sarif", "--message"])
def test_nothing_changed(changes: list[str], form: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("WINNOW_MODELS_DIR", str(tmp_path / "no models"))
    top = git.new(tmp_path / "project")
    git.commit(top, "one", {"a.py": "a = 1\n", "package-lock.json": "{}"})
    git.write(top, {"package-lock.json": '{"a": 1}'} if not changes else {})
    done = CliRunner().invoke(review, [*changes, *([form] if form else []), "-w", str(top)])
    assert done.exit_code == 0, done.output
    if form == "--sarif":
        assert json.loads(done.stdout)["runs"][0]["results"] == []
    elif form == "--json":
        told = json.loads(done.stdout)
        assert (told["files"], told["findings"], told["summary"]) == ([], [], "Nothing changed that Winnow reads.")
    elif form == "--message":
        assert (done.stdout, "no message: nothing changed" in done.stderr) == ("", True)
    else:
        assert "Nothing changed that Winnow reads." in done.stdout


def test_what_was_answered_counts_where_the_server_leaves_and_the_change_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shared server answers the first of four questions, this process the second, and then nothing differs."""
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    top, asked = git.new(tmp_path / "project"), list[str]()
    code = [f"def part{number}():\n    return sum(prices)\n" for number in range(3)]
    git.commit(top, "one", {"a.py": "\n\n".join(code)})
    git.write(top, {"a.py": "\n\n".join(code).replace("sum", "max")})

    def answer(_server: Any, _folders: Any, question: Question, *_: Any) -> tuple[Reply, bool]:
        asked.append(question.text)
        if len(asked) == 3:
            raise NothingChangedError("nothing changed")
        text = "a.py:6 - high - it is wrong" if len(asked) == 1 else question.text.replace("max", "sum")
        return Reply(text, (), (), {}, "stop", ()), len(asked) == 1

    monkeypatch.setattr(ask, "with_target", lambda options: options)
    monkeypatch.setattr(AnsweringServer, "answer", answer)
    done = CliRunner().invoke(review, ["--json", "-w", str(top)])
    assert done.exit_code == 0, done.output
    assert [(one["start_line"], one["rule"]) for one in json.loads(done.stdout)["findings"]] == [
        (6, "model"),
        (2, "corrected"),
    ]
    assert [text.partition("def ")[2][:5] for text in asked[1:]] == ["part0", "part1"]


@pytest.mark.parametrize(
    ("command", "arguments", "finish", "advice"),
    [
        (ask.ask, ["Where?"], "length", "raise the setting maxTokens"),
        (ask.ask, ["Where?", "--json"], "stop", "ask again, or in other words"),
        (review, ["--message"], "stop", "ask again"),
        (review, [], "length", "raise the setting maxTokens"),
        (review, ["--sarif"], "stop", "ask again"),
    ],
)
def test_an_empty_answer_is_a_failure_of_the_target(
    command: click.Command,
    arguments: list[str],
    finish: str,
    advice: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    top = git.new(tmp_path / "project")
    git.commit(top, "one", {"a.py": "a = 1\n"})
    git.write(top, {"a.py": "a = 2\n"})
    git.git(top, "add", "--all")
    monkeypatch.setattr(ask, "with_target", lambda options: options)
    stats = {"stages": {}, "workspace_tokens": 0, "indexed_tokens": 0, "kept_tokens": 0, "ttft_s": None}
    monkeypatch.setattr(AnsweringServer, "answer", lambda *_: (Reply("\n", (), (), stats, finish, ()), False))
    done = CliRunner().invoke(command, [*arguments, "-w", str(top)])
    assert isinstance(done.exception, TargetError)
    assert str(done.exception).endswith(f": {advice}")
    assert "nothing changed" not in done.stderr
    assert "cut off" not in done.stdout
    assert command is ask.ask or not done.stdout

"""`winnow review` where nothing changed, for which no model is asked, and where questions end in the middle."""

import json
from contextlib import nullcontext
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import git_repositories as git
import pytest
from click.testing import CliRunner

from winnow_engine.errors import NothingChangedError
from winnow_engine.question import Question
from winnow_lsp.cli import ask, in_process, shared_server
from winnow_lsp.cli.review import review
from winnow_lsp.host.reply import Reply


@pytest.mark.parametrize("changes", [[], ["staged"], ["branch"], ["HEAD..HEAD"]])
@pytest.mark.parametrize("form", [None, "--json", "--sarif", "--message"])
def test_nothing_changed(changes: list[str], form: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("WINNOW_MODELS_DIR", str(tmp_path / "no models"))
    top = git.new(tmp_path / "project")
    git.commit(top, "one", {"a.py": "a = 1\n"})
    done = CliRunner().invoke(review, [*changes, *([form] if form else []), "-w", str(top)])
    assert done.exit_code == 0, done.output
    if form == "--sarif":
        assert json.loads(done.stdout)["runs"][0]["results"] == []
    elif form == "--json":
        told = json.loads(done.stdout)
        assert (told["files"], told["findings"], told["summary"]) == ([], [], "Nothing changed.")
    elif form == "--message":
        assert (done.stdout, "no message" in done.stderr) == ("", True)
    else:
        assert "Nothing changed." in done.stdout


def test_what_was_answered_counts_where_the_server_leaves_and_the_change_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server answers the first of four questions, this process the second, and then nothing differs."""
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    top, here = git.new(tmp_path / "project"), list[str]()
    code = [f"def part{number}():\n    return sum(prices)\n" for number in range(3)]
    git.commit(top, "one", {"a.py": "\n\n".join(code)})
    git.write(top, {"a.py": "\n\n".join(code).replace("sum", "max")})
    by_server = chain([Reply("a.py:6 - high - it is wrong", (), (), {}, "stop", ())], repeat(None))

    def answer(_helper: Any, question: Question, *_: Any) -> Reply:
        here.append(question.text)
        if len(here) == 2:
            raise NothingChangedError("nothing changed")
        return Reply(question.text.replace("max", "sum"), (), (), {}, "stop", ())

    monkeypatch.setattr(ask, "with_target", lambda options: options)
    monkeypatch.setattr(shared_server, "uses_server", lambda *_: True)
    monkeypatch.setattr(shared_server, "answer_shared", lambda *_: next(by_server))
    monkeypatch.setattr(in_process, "assistant", lambda *_, **__: nullcontext())
    monkeypatch.setattr(in_process, "answer", answer)
    done = CliRunner().invoke(review, ["--json", "-w", str(top)])
    assert done.exit_code == 0, done.output
    assert [(one["start_line"], one["rule"]) for one in json.loads(done.stdout)["findings"]] == [
        (6, "model"),
        (2, "corrected"),
    ]
    assert [text.partition("def ")[2][:5] for text in here] == ["part0", "part1"]

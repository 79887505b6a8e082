"""`winnow when -n`: commits listed without a model."""

import json
from pathlib import Path

import git_repositories as git
import pytest
from click.testing import CliRunner, Result

from winnow_lsp.cli.history import when


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.setenv(name, "2026-03-01T12:00:00Z")
    top = git.new(tmp_path / "project")
    git.commit(top, "Wait for the bus", {"bus.py": "def wait():\n    return 1\n"})
    git.commit(top, "Greet", {"greeting.py": "def greet():\n    return 1\n"})
    return top


def run(*arguments: str) -> Result:
    return CliRunner().invoke(when, arguments)


def test_commits_are_listed_newest_first(top: Path) -> None:
    done = run("When did `wait` change?", "-n", "5", "-w", str(top))
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == f"{git.git(top, 'rev-parse', 'HEAD~').decode()[:10]} 2026-03-01 Wait for the bus (Ada)\n"
    assert len(run("-n", "5", "-w", str(top)).stdout.splitlines()) == 2


def test_commits_as_json_and_what_did_not_fit(top: Path) -> None:
    done = run("When did the zeppelin land?", "-n", "1", "-w", str(top), "--json")
    told = json.loads(done.stdout)
    assert (told["fits"], told["notices"]) == (False, [])
    assert [(one["id"], one["date"], one["message"]) for one in told["commits"]] == [
        (git.head(top), "2026-03-01", "Greet\n")
    ]
    assert "no commit has a word of the question" in run("zeppelin", "-n", "1", "-w", str(top)).stderr

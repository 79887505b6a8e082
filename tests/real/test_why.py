"""Why code is so, as users ask it: a repository with a history, real models, the command and its server."""

import json
from collections.abc import Iterator
from pathlib import Path

import git_repositories as git
import pytest

from .user import User

pytestmark = pytest.mark.real_weights

FETCH = """import time


def fetch(url, session):
    \"\"\"The answer of a server.\"\"\"
    for attempt in range(3):
        answer = session.get(url)
        if answer.ok:
            return answer
    raise OSError(url)
"""
MODELS = ("--drafter", "qwen2.5-coder-0.5b", "--target", "qwen2.5-coder-1.5b")


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:  # the same ids every time
        for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
            patch.setenv(name, "2026-03-01T12:00:00Z")
        yield _made(tmp_path_factory)


def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = git.new(tmp_path_factory.mktemp("repository"))
    git.commit(top, "Fetch pages", {"fetch.py": FETCH})
    git.commit(top, "Greet", {"greeting.py": "def greet(name):\n    return f'Hello {name}'\n"})
    git.commit(
        top,
        "Wait before trying again\n\nThe mirror in Oslo bans clients that ask more than once a second.",
        {"fetch.py": FETCH.replace("    raise", "        time.sleep(2)\n    raise")},
    )
    git.commit(top, "Move the code into a package", {"web/fetch.py": (top / "fetch.py").read_text()})
    git.git(top, "rm", "--quiet", "fetch.py")
    git.commit(top, "Drop the old place")
    return top


def test_the_reason_in_an_old_commit_is_given_and_commits_are_cited(
    user: User, top: Path, qwen_small: Path, qwen_target: Path
) -> None:
    history = set(git.git(top, "log", "--format=%H").decode().split())
    cited = set[str]()
    for server in ("--no-server", "--server"):
        done = user.run("why", "web/fetch.py:10-11", "-w", str(top), *MODELS, "--max-tokens", "160", "--json", server)
        assert done.returncode == 0, done.stderr
        reply = json.loads(done.stdout)
        assert "Oslo" in reply["answer"] or "second" in reply["answer"]
        cited |= {citation["commit"] for citation in reply["citations"]} - {""}
    assert cited  # a small model does not name a commit every time
    assert cited <= history


def test_a_place_that_git_does_not_know_is_an_error_in_words(user: User, tmp_path: Path, smollm2: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.py").write_text("x = 1\n")
    models = ("--drafter", "smollm2-135m", "--target", "smollm2-135m")
    done = user.run("why", "a.py:1", "-w", str(tmp_path / "plain"), *models, "--no-server")
    assert done.returncode == 4
    assert "lies in no git repository" in done.stderr

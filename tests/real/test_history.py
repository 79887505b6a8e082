"""The past as users ask about it, why code is so and when it changed: real models, the command and its server."""

import json
from pathlib import Path
from typing import Any

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
WAITING = FETCH.replace("    raise", "        time.sleep(2)\n    raise")
GREETING = "def greet(name):\n    return f'Hello {name}'\n"
MODELS = ("--drafter", "qwen2.5-coder-0.5b", "--target", "qwen2.5-coder-1.5b")


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose code has moved since a commit gave a reason."""
    top = git.new(tmp_path_factory.mktemp("moved"))
    with pytest.MonkeyPatch.context() as patch:
        _on_day(patch, 1)
        git.commit(top, "Fetch pages", {"fetch.py": FETCH})
        git.commit(top, "Greet", {"greeting.py": GREETING})
        git.commit(
            top,
            "Wait before trying again\n\nThe mirror in Oslo bans clients that ask more than once a second.",
            {"fetch.py": WAITING},
        )
        git.commit(top, "Move the code into a package", {"web/fetch.py": WAITING})
        git.git(top, "rm", "--quiet", "fetch.py")
        git.commit(top, "Drop the old place")
    return top


@pytest.fixture(scope="module")
def dated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a commit a day."""
    top = git.new(tmp_path_factory.mktemp("dated"))
    commits = (
        ("Fetch pages", {"fetch.py": FETCH}),
        ("Greet", {"greeting.py": GREETING}),
        ("Follow the rules of the mirror in Oslo", {"fetch.py": WAITING}),
        ("Say goodbye", {"greeting.py": GREETING.replace("Hello", "Goodbye")}),
    )
    with pytest.MonkeyPatch.context() as patch:
        for day, (message, files) in enumerate(commits, 11):
            _on_day(patch, day)
            git.commit(top, message, files)
    return top


def _on_day(patch: pytest.MonkeyPatch, day: int) -> None:
    """Commits get this date, and so the same ids every time."""
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        patch.setenv(name, f"2026-03-{day:02}T12:00:00Z")


def replied(user: User, *words: str) -> dict[str, Any]:
    """The reply to a command, as JSON."""
    done = user.run(*words, *MODELS, "--json")
    assert done.returncode == 0, done.stderr
    reply: dict[str, Any] = json.loads(done.stdout)
    return reply


def cited(reply: dict[str, Any]) -> set[str]:
    """The commits that an answer cites."""
    return {citation["commit"] for citation in reply["citations"]} - {""}


def test_the_reason_in_an_old_commit_is_given_and_commits_are_cited(
    user: User, moved: Path, qwen_small: Path, qwen_target: Path
) -> None:
    found = set[str]()
    for server in ("--no-server", "--server"):
        reply = replied(user, "why", "web/fetch.py:10-11", "-w", str(moved), "--set", "maxTokens=160", server)
        assert "Oslo" in reply["answer"] or "second" in reply["answer"]
        found |= cited(reply)
    assert found  # a small model does not name a commit every time
    assert found <= set(git.git(moved, "log", "--format=%H").decode().split())


def test_the_commit_whose_message_does_not_name_what_changed_is_found_dated_and_cited(
    user: User, dated: Path, qwen_small: Path, qwen_target: Path
) -> None:
    changed = git.git(dated, "rev-parse", "HEAD~").decode().strip()
    answers, found = "", set[str]()
    for words, server in (
        (("when", "When did `fetch` last change?"), "--no-server"),
        (("ask", "@when did fetch change?"), "--server"),
    ):
        reply = replied(user, *words, "-w", str(dated), "--set", "maxTokens=120", server)
        answers += reply["answer"]
        found |= cited(reply)
    assert changed[:7] in answers or "2026-03-13" in answers or "Oslo" in answers
    assert found <= set(git.git(dated, "log", "--format=%H", "--", "fetch.py").decode().split())
    assert changed in found


@pytest.mark.parametrize("words", [("why", "a.py:1"), ("when", "When?")], ids=["why", "when"])
def test_a_folder_that_git_does_not_know_is_an_error_in_words(
    user: User, tmp_path: Path, smollm2: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.py").write_text("x = 1\n")
    models = ("--drafter", "smollm2-135m", "--target", "smollm2-135m")
    done = user.run(*words, "-w", str(tmp_path / "plain"), *models, "--no-server")
    assert done.returncode == 4
    assert "lies in no git repository" in done.stderr

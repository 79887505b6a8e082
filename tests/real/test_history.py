"""When something changed, as users ask it: a repository with a history, real models, the command and its server."""

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
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = git.new(tmp_path_factory.mktemp("repository"))
    with pytest.MonkeyPatch.context() as patch:
        for day, (message, files) in enumerate(_commits()):
            for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
                patch.setenv(name, f"2026-03-{day + 11}T12:00:00Z")
            git.commit(top, message, files)
    return top


def _commits() -> Iterator[tuple[str, dict[str, str | bytes]]]:
    yield "Fetch pages", {"fetch.py": FETCH}
    yield "Greet", {"greeting.py": "def greet(name):\n    return f'Hello {name}'\n"}
    yield (
        "Follow the rules of the mirror in Oslo",
        {"fetch.py": FETCH.replace("    raise", "        time.sleep(2)\n    raise")},
    )
    yield "Say goodbye", {"greeting.py": "def greet(name):\n    return f'Goodbye {name}'\n"}


def test_the_commit_whose_message_does_not_name_what_changed_is_found_dated_and_cited(
    user: User, top: Path, qwen_small: Path, qwen_target: Path
) -> None:
    changed = git.git(top, "rev-parse", "HEAD~").decode().strip()
    answers, cited = "", set[str]()
    for question, server in (("When did `fetch` last change?", "--no-server"), ("@when did fetch change?", "--server")):
        command = ("when",) if server == "--no-server" else ("ask",)
        done = user.run(*command, question, "-w", str(top), *MODELS, "--max-tokens", "120", "--json", server)
        assert done.returncode == 0, done.stderr
        reply = json.loads(done.stdout)
        answers += reply["answer"]
        cited |= {citation["commit"] for citation in reply["citations"]} - {""}
    assert changed[:7] in answers or "2026-03-13" in answers or "Oslo" in answers
    assert cited <= set(git.git(top, "log", "--format=%H", "--", "fetch.py").decode().split())
    assert changed in cited


def test_a_folder_that_git_does_not_know_is_an_error_in_words(user: User, tmp_path: Path, smollm2: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.py").write_text("x = 1\n")
    models = ("--drafter", "smollm2-135m", "--target", "smollm2-135m")
    done = user.run("when", "When?", "-w", str(tmp_path / "plain"), *models, "--no-server")
    assert done.returncode == 4
    assert "lies in no git repository" in done.stderr

"""Which commits answer a question: by messages, paths, authors, and names that came, went or changed."""

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from git_repositories import commit, git, new

from winnow_engine.core import Cancellation
from winnow_engine.errors import CancelledError
from winnow_engine.git.objects import commits
from winnow_engine.git.repository import open_repository
from winnow_engine.history import finding
from winnow_engine.history.finding import rank_commits
from winnow_engine.history.terms import asked_in

Ask = Callable[[str], list[str]]
WAIT = "def wait_for(bus):\n    return bus.comes()\n"
RIDE = "class HTTPRide:\n    def begin(self):\n        return 1\n"


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = new(tmp_path_factory.mktemp("finding") / "project")
    commit(top, "Start", {"bus.py": WAIT, "README.md": "# Bus\n"})
    commit(top, "Support rides", {"ride.py": RIDE})
    commit(top, "Fix a typo", {"bus.py": WAIT.replace("comes", "arrives")})
    commit(top, "Tidy up", {"ride.py": RIDE.replace("1", "2")})
    commit(top, "Retry connections that time out\n\nTimeouts were not caught.", {"net/retrying.py": "LIMIT = 3\n"})
    commit(top, "Describe the timetable when there is none", {"README.md": "# Bus\n\nNo timetable.\n"})
    commit(top, "Simplify", {"bus.py": "", "ride.py": RIDE})
    return top


def subjects(top: Path, question: str) -> list[str]:
    repository = open_repository(top)
    ids = [one.commit.id for one in rank_commits(repository, question, 5)[0] if one.score]
    return [one.subject for one in commits(repository.git, ids)]


@pytest.fixture
def found(top: Path) -> Ask:
    return lambda question: subjects(top, question)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("When were connections retried?", "Retry connections that time out"),
        ("When did we connect again?", "Retry connections that time out"),
        ("Since when do we catch timeouts?", "Retry connections that time out"),
        ("When was `wait_for` removed?", "Simplify"),
        ("When was wait_for added?", "Start"),
        ("When was LIMIT introduced?", "Retry connections that time out"),
        ("When did the class HTTPRide appear?", "Support rides"),
        ("When did someone edit something in net/retrying.py?", "Retry connections that time out"),
        ("When was the timetable described?", "Describe the timetable when there is none"),
    ],
)
def test_the_commit_that_answers_is_first(found: Ask, question: str, first: str) -> None:
    assert found(question)[0] == first


def test_a_change_that_no_message_tells_is_found_by_the_name_of_what_changed(found: Ask) -> None:
    assert found("When did `HTTPRide.begin` change?")[:3] == ["Simplify", "Tidy up", "Support rides"]
    assert found("When was `ride.begin` added?")[0] == "Support rides"
    assert found("What happened to bus.py lately?")[:3] == ["Simplify", "Fix a typo", "Start"]


def test_a_name_of_many_definitions_and_one_in_a_subfolder(top: Path, tmp_path: Path) -> None:
    other = new(tmp_path / "other")
    commit(other, "One", {"sub/a.py": WAIT, **{f"{n}.py": "def begin():\n    return 1\n" for n in range(9)}})
    commit(other, "Two", {"sub/a.py": WAIT.replace("comes", "arrives"), "0.py": "def begin():\n    return 2\n"})
    assert subjects(other, "When did `begin` change?") == []
    assert subjects(other / "sub", "When did `wait_for` change?") == ["Two", "One"]


def test_where_a_shallow_clone_ends_nothing_was_added(top: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--depth=4", f"file://{top}", "clone")
    assert subjects(tmp_path / "clone", "When was `wait_for` added?") == ["Simplify"]


def test_a_clone_without_contents_is_searched_by_messages(top: Path, tmp_path: Path) -> None:
    git(top, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--bare", "--filter=blob:none", f"file://{top}", "clone.git")
    found, notices = rank_commits(open_repository(tmp_path / "clone.git"), "When did `retry` come?", 5)
    assert found[0].score > 0
    assert notices


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the files that were parsed to find a definition; each takes ten seconds."""
    paths, now = list[str](), [0.0]

    def analyse(path: str, _: bytes) -> SimpleNamespace:
        paths.append(path)
        now[0] += 10
        return SimpleNamespace(units=())

    monkeypatch.setattr(finding, "analyse", analyse)
    monkeypatch.setattr(finding, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return paths


def search(top: Path, seconds: float, cancellation: Cancellation | None = None) -> finding.NameSearch:
    repository = open_repository(top, cancellation or Cancellation())
    return finding.NameSearch(repository, repository.commit("HEAD"), seconds)


def test_no_file_is_parsed_after_the_time_is_up_or_the_search_cancelled(
    tmp_path: Path, parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    top, cancellation = new(tmp_path / "two"), Cancellation()
    commit(top, "Two", {"a.py": WAIT, "b.py": WAIT})
    short = search(top, 3)
    assert short.commits("wait_for", as_text=False) == set()
    assert (parsed, short.complete) == (["a.py"], False)
    long = search(top, 90)
    assert long.commits("wait_for", as_text=False) == set()
    assert (parsed, long.complete) == (["a.py", "a.py", "b.py"], True)

    def cancels(*_: object) -> SimpleNamespace:
        cancellation.cancel()
        return SimpleNamespace(units=())

    monkeypatch.setattr(finding, "analyse", cancels)
    with pytest.raises(CancelledError):
        search(top, 90, cancellation).commits("wait_for", as_text=False)


def test_a_name_that_is_nowhere_was_searched_for_unless_the_search_was_stopped(top: Path) -> None:
    for seconds, complete in ((60, True), (0, False)):
        made = search(top, seconds)
        assert made.commits("zeppelin", as_text=False) == set()
        assert made.complete == complete


@pytest.mark.parametrize("part", ["x", "a/", "/", "a_-", "A", "`"])
def test_a_long_question_without_spaces_is_taken_apart_at_once(part: str) -> None:
    began = time.process_time()
    asked_in(part * 100_000)
    assert time.process_time() - began < 10


def test_what_is_gone_what_never_was_and_words_of_asking_alone(found: Ask) -> None:
    assert found("What happened to wait_for lately?") == ["Simplify", "Start"]
    assert found("When did the zeppelin land?") == []
    assert found("when") == ["Describe the timetable when there is none"]

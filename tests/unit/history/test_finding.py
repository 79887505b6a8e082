"""Which commits answer a question: by messages, paths, authors, and names that came, went or changed."""

from collections.abc import Callable
from pathlib import Path

import pytest
from git_repositories import commit, new

from winnow_engine.git.objects import commits
from winnow_engine.git.repository import open_repository
from winnow_engine.history.asked import asked_in
from winnow_engine.history.finding import rank_commits
from winnow_engine.history.reading import read_history
from winnow_engine.history.terms import stem, words

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


@pytest.fixture
def found(top: Path, tmp_path: Path) -> Ask:
    repository = open_repository(top)
    history = read_history(repository, tmp_path)

    def subjects(question: str) -> list[str]:
        ids = [one.id for one in rank_commits(history, question, 5)]
        return [one.subject for one in commits(repository.git, ids)]

    return subjects


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("When were connections retried?", "Retry connections that time out"),
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
    assert set(found("When did `begin` change?")) == {"Support rides", "Tidy up", "Simplify"}
    assert found("When did `begin` change?")[0] in ("Tidy up", "Simplify")
    assert "Fix a typo" in found("When did wait_for change?")


def test_of_the_commits_that_touched_a_name_the_newest_is_the_last(found: Ask) -> None:
    assert found("When did `begin` change last?")[:3] == ["Simplify", "Tidy up", "Support rides"]
    assert found("What happened to wait_for lately?")[0] == "Simplify"


def test_a_plain_word_counts_less_as_a_name_than_in_a_message() -> None:
    plain, code = asked_in("When did the bus wait?"), asked_in("When did `bus.wait` change?")
    assert plain.names == {"=bus": 0.5, "=wait": 0.5}
    assert code.names == {"=bus": 1.0, "=wait": 1.0}
    assert (plain.terms, plain.kinds, plain.latest) == ({"bus": 1.0, "wait": 1.0}, (), False)
    added = asked_in("Since when is the `add` method there, and who removed it last?")
    assert (added.kinds, added.latest, added.names["=add"]) == (("removed",), True, 1.0)


def test_words_that_occur_nowhere_find_nothing(found: Ask) -> None:
    assert found("When did the zeppelin land?") == []


def test_a_question_of_nothing_but_words_of_asking_is_searched_for_these(found: Ask) -> None:
    assert found("when") == ["Describe the timetable when there is none"]


@pytest.mark.parametrize(
    "forms",
    ["change changes changed changing", "add added adds adding", "process processes", "parse parsed parsing", "bus"],
)
def test_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


def test_words_of_other_languages_stay_whole() -> None:
    assert words("größe parseHTTPHeader_v2 Änderung a") == ["größe", "parse", "HTTP", "Header", "2", "Änderung"]
    assert stem("string") == "string"

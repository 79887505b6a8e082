"""The rules that make questions of histories, on generated repositories; and what each way to answer finds there."""

from pathlib import Path

import git_repositories as git
import pytest

from winnow_engine.core import Cancellation
from winnow_engine.git.repository import open_repository
from winnow_research.errors import EvaluationError
from winnow_research.evaluation.haystack import indexed
from winnow_research.evaluation.histories.asked_commits import AskedCommit, asked_commits, text_of, worth_reading
from winnow_research.evaluation.histories.asking_why import answered_why
from winnow_research.evaluation.histories.clones import Pin, opened
from winnow_research.evaluation.histories.finders import Finders
from winnow_research.evaluation.histories.run import Histories
from winnow_research.evaluation.histories.small_commits import all_commits, gives_a_reason, small_commits
from winnow_research.evaluation.histories.when import subject_of, when_cases
from winnow_research.evaluation.histories.why import WhyCase, why_cases
from winnow_research.evaluation.repositories import SourceFile

WAIT = """def wait_for_bus(bus, seconds):
    patience = seconds * 3 + 1
    while patience and not bus.comes_around_the_corner():
        patience -= 1
    return bus.comes_around_the_corner()
"""
TICKET = """def price_of(ticket):
    return ticket.zones * 3


def receipt(ticket):
    return f"{ticket.name}: {price_of(ticket)}"
"""


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return git.new(tmp_path / "clones" / "ada" / "buses")


def whys(top: Path) -> list[WhyCase]:
    return list(why_cases(open_repository(top), 10, 0))


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def test_lines_that_were_moved_are_asked_about_with_the_commit_that_wrote_them(top: Path) -> None:
    git.commit(top, "Begin with a stop", {"stop.py": "STOP = 'corner'\n"})
    wrote = git.commit(top, "Wait for the bus", {"stop.py": "STOP = 'corner'\n\n\n" + WAIT})
    git.commit(top, "Keep waiting apart", {"stop.py": "STOP = 'corner'\n", "waiting.py": WAIT})
    assert whys(top) == [WhyCase("waiting.py", 1, 5, wrote, "moved to another file")]


@pytest.mark.parametrize(
    ("files", "since"),
    [
        ({"stop.py": "class Stop:\n" + indented(WAIT)}, "re-indented"),
        ({"stop.py": WAIT.replace("wait_for_bus", "stay")}, ""),
        ({"stop.py": WAIT + "\n\nSTOP = 1\n"}, ""),
        ({"stop.py": WAIT, "twice.py": WAIT}, ""),
    ],
)
def test_what_happened_since_decides_whether_lines_are_asked_about(
    top: Path, files: dict[str, str | bytes], since: str
) -> None:
    git.commit(top, "Begin with a stop", {"stop.py": "STOP = 1\n"})
    git.commit(top, "Wait for the bus", {"stop.py": WAIT})
    git.commit(top, "Go on with it", files)
    assert [case.since for case in whys(top)] == ([since] if since else [])


def test_messages_without_a_reason_and_large_commits_are_left_out(top: Path) -> None:
    git.commit(top, "Reformat the whole code", {"a.py": WAIT})
    git.commit(top, "Fix it", {"b.py": WAIT})
    many = "\n\n".join(f"def walk_{n}(steps):\n    return steps + {n}\n" for n in range(7))
    git.commit(top, "Walk in seven ways", {"c.py": many})
    kept = git.commit(top, "Wait for the bus", {"d.py": WAIT.replace("3", "4")})
    git.commit(top, "Put the bus further in", {"d.py": WAIT.replace("3", "4").replace("    ", "  ")})
    repository = open_repository(top)
    assert [one.commit.id for one in small_commits(repository, all_commits(repository))] == [kept]
    assert not gives_a_reason("Revert 'Wait for the bus'")


def test_what_each_way_to_find_the_commit_shows(top: Path) -> None:
    git.commit(top, "Begin with a stop", {"stop.py": "STOP = 'corner'\n"})
    git.commit(top, "Wait for the bus", {"stop.py": "STOP = 'corner'\n\n\n" + WAIT})
    git.commit(top, "Keep waiting apart", {"stop.py": "STOP = 'corner'\n", "waiting.py": WAIT})
    rows = list(answered_why(asked(top)))
    assert {row.test for row in rows} >= {"why, first", "why, moved to another file, first"}
    assert {row.method: row.score for row in rows if row.test == "why, first"} == {
        "Winnow": 1,
        "git blame": 0,
        "git log -S": 0,
        "BM25 of messages": 1,
    }
    assert {row.method for row in rows if row.test == "why, any of 6" and row.score == 0} == {"git blame"}


def test_when_is_asked_by_a_subject_by_half_of_it_and_by_a_name(top: Path) -> None:
    git.commit(top, "Begin with a stop", {"stop.py": "STOP = 'corner'\n"})
    git.commit(top, "feat(bus): Wait for the bus at night (#12)", {"waiting.py": WAIT})
    git.commit(top, "Sell tickets to people in buses", {"ticket.py": TICKET})
    git.commit(top, "Count the people that are waiting", {"queue.py": "def people_at(stop):\n    return len(stop)\n"})
    found = {case.kind: case for case in when_cases(Finders(open_repository(top)), 10, 0)}
    subjects = {one.id: subject_of(one) for one in all_commits(open_repository(top))}
    assert "Wait for the bus at night" in subjects.values()
    whole, half, name = found["subject"], found["half of the subject"], found["name"]
    assert whole.question == f"When did this happen: {subjects[whole.commit]}?"
    assert half.words == tuple(subjects[half.commit].split()[::2])
    made = {"wait_for_bus": "Wait", "price_of": "Sell", "people_at": "Count"}
    assert subjects[name.commit].split()[0] == made[name.words[0]]
    assert len({case.commit for case in found.values()}) == 3


def test_missing_clones_are_named_with_the_commands_that_get_them(top: Path, tmp_path: Path) -> None:
    git.commit(top, "one")
    short = Pin("buses", "ada/buses", "0" * 40, "python")
    with pytest.raises(EvaluationError) as error:
        opened([short, Pin("cars", "ada/cars", "0" * 40, "python")], tmp_path / "clones", Cancellation())
    assert f"git clone --bare https://github.com/ada/cars {tmp_path}/clones/ada/cars" in str(error.value)
    assert f"git -C {top} fetch" in str(error.value)


def asked(top: Path) -> Histories:
    pin = Pin("buses", "ada/buses", git.head(top), "python")
    return Histories(opened([pin], top.parents[1], Cancellation()), 10, 0, lambda _: None)


def whats(top: Path, files: dict[str, str]) -> list[AskedCommit]:
    """What is asked of a clone's commits about other files, whose paths begin with the repository's name."""
    repository = open_repository(top)
    later = indexed(SourceFile(f"buses/{path}", text.encode()) for path, text in files.items())
    found = list(asked_commits(small_commits(repository, all_commits(repository)), later))
    worth = worth_reading(repository, all_commits(repository), later)
    assert list(asked_commits(small_commits(repository, worth), later)) == found
    return found


def test_a_commit_is_asked_about_where_its_units_stand_later(top: Path) -> None:
    git.commit(top, "Begin with the ticket", {"src/ticket.py": TICKET, "src/stop.py": WAIT})
    dearer = TICKET.replace("* 3", "* 4")
    changed = git.commit(top, "fix: Make every zone cost four coins (#12)", {"src/ticket.py": dearer})
    (found,) = whats(top, {"ticket.py": "ZONES = 9\n\n\n" + dearer})
    assert (found.commit, found.text) == (changed, "Make every zone cost four coins")
    assert [(place.unit.name, place.unit.start_line) for place in found.golds] == [("price_of", 4)]


def test_a_message_is_asked_without_what_only_its_project_understands() -> None:
    message = (
        "unix: handle cloexec (#7)\n\nThe descriptor leaked. See https://x.org/1\nPR-URL: https://x.org/2\n\nMore."
    )
    assert text_of(message) == "handle cloexec. The descriptor leaked. See."
    assert text_of("Close the file, fixes #3") == "Close the file,"

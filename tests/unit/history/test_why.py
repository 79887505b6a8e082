"""The commits that shaped lines, in real repositories: through moves, renames, re-indentation and unsaved edits."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attributed import cite
from git_repositories import commit, git, head, new, sources_of, write

from winnow_engine.core import Cancellation, Citation, Folder
from winnow_engine.errors import NotARepositoryError, PositionError, RevisionError
from winnow_engine.git.repository import open_repository
from winnow_engine.history.blame_chain import shaping_commits
from winnow_engine.history.effects import CommitEffect
from winnow_engine.history.question import asked_past, with_past
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import WHY, Cursor, Question

WAIT = """def wait(bus):
    patience = 3
    while patience and not bus.comes_around_the_corner():
        patience -= 1
    return bus.comes_around_the_corner()
"""
MORE = """def walk(steps):
    for step in range(steps):
        yield "left" if step % 2 else "right"
"""


def shaped(top: Path, path: str, *lines: int) -> tuple[list[CommitEffect], int]:
    data = (top / path).read_bytes()
    return shaping_commits(open_repository(top), Folder(top), path, data, lines or range(1, data.count(b"\n") + 1))


def subjects(found: tuple[list[CommitEffect], int]) -> list[str]:
    return [one.commit.subject for one in found[0]]


def test_the_commit_of_each_line_and_the_one_before_it(top: Path) -> None:
    commit(top, "Wait for the bus", {"bus.py": WAIT})
    commit(top, "Unrelated", {"walk.py": MORE})
    commit(top, "Wait longer\n\nPeople missed it by seconds.", {"bus.py": WAIT.replace("= 3", "= 5")})
    found = shaped(top, "bus.py", 2)
    assert subjects(found) == ["Wait longer", "Wait for the bus"]
    assert [one.level for one in found[0]] == [0, 1]
    assert [one.lines for one in found[0]] == [(2,), (2,)]
    assert subjects(shaped(top, "bus.py", 1)) == ["Wait for the bus"]


def test_moves_to_another_file_and_new_indentation_are_seen_through(top: Path) -> None:
    commit(top, "Wait for the bus", {"bus.py": WAIT + MORE})
    commit(top, "Move waiting out", {"bus.py": MORE, "waiting.py": WAIT})
    indented = "class Stop:\n" + "".join(f"    {line}\n" for line in WAIT.splitlines())
    commit(top, "Make it a method", {"waiting.py": indented})
    assert subjects(shaped(top, "waiting.py", 3, 4, 5)) == ["Wait for the bus"]
    (first,) = shaped(top, "waiting.py", 4)[0]
    assert (first.path, first.lines) == ("bus.py", (3,))


def test_a_renamed_file_keeps_its_history(top: Path) -> None:
    commit(top, "Wait for the bus", {"bus.py": WAIT})
    git(top, "mv", "bus.py", "coach.py")
    commit(top, "Call it coach")
    assert subjects(shaped(top, "coach.py")) == ["Wait for the bus"]


def test_what_is_not_committed_is_counted_and_the_rest_is_found(top: Path) -> None:
    commit(top, "Wait for the bus", {"bus.py": WAIT})
    write(top, {"bus.py": "# new\n" + WAIT})
    found, uncommitted = shaped(top, "bus.py", 1, 2, 3)
    assert ([one.commit.subject for one in found], uncommitted) == (["Wait for the bus"], 1)
    assert found[0].lines == (1, 2)


def test_a_file_in_no_commit_and_a_repository_without_one_are_said(top: Path) -> None:
    write(top, {"bus.py": WAIT})
    with pytest.raises(RevisionError, match="there is no commit yet"):
        shaped(top, "bus.py")
    git(top, "commit", "--quiet", "--allow-empty", "-m", "Without the bus")
    with pytest.raises(RevisionError, match=r"bus\.py is in no commit yet"):
        shaped(top, "bus.py")


def test_a_merge_and_a_shallow_clone_end_where_history_does(
    top: Path, tmp_path: Path, read: Callable[..., Workspace]
) -> None:
    commit(top, "Wait for the bus", {"bus.py": WAIT})
    git(top, "checkout", "--quiet", "-b", "side")
    commit(top, "Wait longer", {"bus.py": WAIT.replace("= 3", "= 5")})
    git(top, "checkout", "--quiet", "main")
    commit(top, "Walk", {"walk.py": MORE})
    git(top, "merge", "--quiet", "--no-edit", "side")
    assert subjects(shaped(top, "bus.py", 2)) == ["Wait longer", "Wait for the bus"]
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{top}", "clone")
    found, _ = shaped(tmp_path / "clone", "bus.py", 2)
    assert [(one.commit.id, one.lines, one.file, one.hunks, one.others) for one in found] == [
        (head(top), (2,), None, (), ())
    ]
    text = next(asked(tmp_path / "clone", read(tmp_path / "clone"), Cursor("bus.py", 2, 2)))
    assert "the clone ends here; `git fetch --unshallow` gets the rest\n" in text
    assert "+    patience" not in text
    assert "the clone ends" not in next(asked(top, read(top), Cursor("bus.py", 2, 2)))


def test_names_that_git_quotes_and_folders_within_a_repository(top: Path) -> None:
    odd = 'un "usual"\tnäme.py'
    commit(top, "Odd", {f"sub/{odd}": WAIT})
    found, _ = shaping_commits(open_repository(top / "sub"), Folder(top / "sub"), odd, WAIT.encode(), [2])
    assert [(one.commit.subject, one.lines) for one in found] == [("Odd", (2,))]
    assert not found[0].path.startswith("sub/")


def test_a_file_of_a_submodule_has_the_history_of_the_submodule(
    top: Path, tmp_path: Path, read: Callable[..., Workspace]
) -> None:
    inner = new(tmp_path / "inner")
    commit(inner, "Wait for the bus", {"src/bus.py": WAIT})
    commit(inner, "Wait longer", {"src/bus.py": WAIT.replace("= 3", "= 5"), "walk.py": MORE})
    git(top, "submodule", "--quiet", "add", str(inner), "lib/inner")
    commit(top, "Add the bus")
    text = next(asked(top, read(top), Cursor("lib/inner/src/bus.py", 2, 2)))
    assert "Add the bus" not in text
    assert f"commit {head(inner)[:10]} " in text
    assert "in lib/inner/src/bus.py:\n-    patience = 3\n+    patience = 5\nalso in lib/inner/walk.py\n" in text
    assert "Wait for the bus" in text


@pytest.mark.parametrize("name", [":bus.py", ":(top)bus.py", "*.py", "[b]us.py"])
def test_names_that_git_could_take_for_patterns(name: str, top: Path) -> None:
    commit(top, "Odd", {name: WAIT})
    commit(top, "Plain", {"bus.py": MORE})
    assert subjects(shaped(top, name, 2)) == ["Odd"]


@pytest.mark.parametrize("named", [["missing"], ["broken"], ["missing", "broken"], [""]])
def test_lists_of_commits_to_ignore_that_are_missing_or_broken(named: list[str], top: Path) -> None:
    commit(top, "Wait for the bus", {"bus.py": WAIT, "broken": "not a commit\n"})
    for name in named:
        git(top, "config", "--add", "blame.ignoreRevsFile", name)
    assert subjects(shaped(top, "bus.py", 2)) == ["Wait for the bus"]


@pytest.mark.parametrize(
    ("ends", "lines", "found"),
    [
        ("\n\n\n\n", [4], {"Four": (4,), "First": (4,)}),
        ("\r\n\r\n", [4], {"Four": (4,), "First": (4,)}),
        ("\r\n\r\n", [3], {"First": (3,)}),
        ("\r\r\n\n", [4], {"Four": (4,), "First": (4,)}),
        ("\r\r\n\n", [2], {"First": (2,)}),
        ("\r\r\r\r", [4], {"Four": (4,), "First": (4,)}),
        ("\r\r\r\r", [1, 2], {"First": (1, 2)}),
    ],
)
def test_carriage_returns_end_lines(ends: str, lines: list[int], found: dict[str, tuple[int, ...]], top: Path) -> None:
    def text(*words: str) -> bytes:
        return "".join(
            f"{word * 15} = {n}{end}" for n, (word, end) in enumerate(zip(words, ends, strict=True))
        ).encode()

    commit(top, "First", {"a.py": text("one_", "two_", "three_", "old_")})
    commit(top, "Four", {"a.py": text("one_", "two_", "three_", "four_")})
    shaping, uncommitted = shaped(top, "a.py", *lines)
    assert ({one.commit.subject: one.lines for one in shaping}, uncommitted) == (found, 0)
    write(top, {"a.py": b"# new\r" + text("one_", "two_", "three_", "four_")})
    shaping, uncommitted = shaped(top, "a.py", 1, *(line + 1 for line in lines))
    assert ({one.commit.subject: one.lines for one in shaping}, uncommitted) == (found, 1)


def asked(top: Path, workspace: Workspace, cursor: Cursor | None) -> Iterator[str]:
    question = workspace.located(Question("Why is this so?", cursor, changes=WHY))
    past = asked_past(question, sources_of(top), workspace, Cancellation())
    change = with_past(question, past, workspace, len).change
    assert change is not None
    yield from (shown.text for shown in change.shown)


def test_the_target_reads_messages_and_differences_and_less_where_there_is_less_room(
    top: Path, read: Callable[..., Workspace]
) -> None:
    commit(top, "Wait for the bus", {"bus.py": WAIT, "walk.py": MORE})
    longer = commit(top, "Wait longer\n\nPeople missed it by seconds.", {"bus.py": WAIT.replace("= 3", "= 5")})
    texts = list(asked(top, read(top), Cursor("bus.py", 2, 2)))
    assert [len(text) for text in texts] == sorted(map(len, texts), reverse=True)
    first = texts[0]
    assert f"commit {longer[:10]} " in first
    assert "Wait longer\n  People missed it by seconds." in first
    assert "-    patience = 3\n+    patience = 5" in first
    assert "also in walk.py" in first
    assert "Wait longer" in texts[-1]
    assert "patience = 5" not in texts[-1]


def test_an_answer_cites_a_commit_by_its_id(top: Path, read: Callable[..., Workspace]) -> None:
    longer = commit(top, "Wait longer\n\nPeople missed it by a few seconds.", {"bus.py": WAIT})
    workspace = read(top)
    question = workspace.located(Question("Why?", Cursor("bus.py", 2, 3), changes=WHY))
    past = asked_past(question, sources_of(top), workspace, Cancellation())
    change = with_past(question, past, workspace, len).change
    answer = f"Because of commit {longer[:8]}, see bus.py:2; not of deadbee or {longer[:5]}."
    assert cite(answer, workspace, (), change) == (Citation("bus.py", 2, 3, longer), Citation("bus.py", 2, 2))
    quoted = "It waits because people missed it by a few seconds."
    assert cite(quoted, workspace, (), change) == (Citation("bus.py", 2, 3, longer),)
    assert cite("People were late by some seconds.", workspace, (), change) == ()


def test_a_question_without_a_place_or_a_repository_says_what_to_do(
    top: Path, tmp_path: Path, read: Callable[..., Workspace]
) -> None:
    commit(top, "First", {"bus.py": WAIT})
    with pytest.raises(PositionError, match="FILE:LINE"):
        list(asked(top, read(top), None))
    write(tmp_path / "plain", {"bus.py": WAIT})
    with pytest.raises(NotARepositoryError):
        list(asked(tmp_path / "plain", read(tmp_path / "plain"), Cursor("bus.py", 1, 1)))

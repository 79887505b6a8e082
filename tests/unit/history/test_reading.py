"""The kept history: as good after any number of steps as one read from scratch, and never trusted when damaged."""

import math
import random
from pathlib import Path

import numpy as np
import pytest
from git_histories import shown, step
from git_repositories import commit, git, head, new

from winnow_engine.errors import RevisionError
from winnow_engine.git.log import ancestry, lineage
from winnow_engine.git.program import Git
from winnow_engine.git.repository import open_repository
from winnow_engine.history import history_cache as kept
from winnow_engine.history import reading
from winnow_engine.history.finding import rank_commits
from winnow_engine.history.reading import History, is_kept, read_history

PLAIN = "def wait():\n    return 1\n"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return new(tmp_path / "project")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kept"


def read(top: Path, folder: Path, patience_s: float = math.inf, *, older: bool = True) -> History:
    return read_history(open_repository(top), folder, patience_s, older=older)


@pytest.mark.parametrize("seed", range(8))
def test_reading_what_is_new_gives_what_reading_all_gives(
    top: Path, folder: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_LEAST_RECENT", 4)  # so that both files are written anew now and then
    monkeypatch.setattr(reading, "_COMMITS_AT_ONCE", 3)
    monkeypatch.setattr(reading, "_PATCHES_AT_ONCE", 2)
    chance = random.Random(seed)
    commit(top, "First", {"bus.py": PLAIN})
    for number in range(6):
        for _ in range(chance.randint(1, 4)):
            step(top, chance)
        history = read(top, folder)
        fresh = read(top, folder.with_name(f"fresh{number}"))
        assert shown(history) == shown(fresh)
        assert set(shown(fresh)) == set(git(top, "rev-list", "HEAD").decode().split())
        for question in ("When did `wait` change?", "When was waiting added?"):
            assert set(rank_commits(history, question, 99)) == set(rank_commits(fresh, question, 99))


def test_only_new_commits_are_read(top: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        commit(top, f"Commit {number}", {"bus.py": PLAIN * number})
    read(top, folder)
    asked: list[bytes] = []
    run = Git.run

    def noted(self: Git, *arguments: str, stdin: bytes = b"", timeout_s: float = 60.0) -> bytes:
        asked.append(stdin if arguments[0] == "diff-tree" else b"")
        return run(self, *arguments, stdin=stdin, timeout_s=timeout_s)

    monkeypatch.setattr(Git, "run", noted)
    read(top, folder)
    assert b"".join(asked) == b""
    latest = commit(top, "Commit 3", {"bus.py": PLAIN})
    read(top, folder)
    assert b"".join(asked) == f"{latest}\n".encode() * 2


@pytest.mark.parametrize("damage", [b"", b"no file of arrays", None])
@pytest.mark.parametrize("which", ["history-2", "history-recent-2"])
def test_a_damaged_file_is_read_again(top: Path, folder: Path, which: str, damage: bytes | None) -> None:
    commit(top, "Commit 0", {"bus.py": PLAIN})
    read(top, folder)
    commit(top, "Commit 1", {"bus.py": PLAIN * 2})
    whole = shown(read(top, folder))
    (place,) = folder.glob(f"*.{which}")
    data = place.read_bytes()
    place.write_bytes(data[: len(data) // 2] if damage is None else damage)
    assert shown(read(top, folder)) == whole
    flipped = bytearray(data)
    flipped[-1] ^= 1
    place.write_bytes(flipped)
    assert shown(read(top, folder)) == whole


def test_two_processes_that_write_by_turns_do_no_harm(top: Path, folder: Path, tmp_path: Path) -> None:
    commit(top, "Commit 0", {"bus.py": PLAIN})
    other = tmp_path / "other"
    read(top, folder)
    read(top, other)
    commit(top, "Commit 1", {"bus.py": PLAIN * 2})
    read(top, folder)
    (mine,), (theirs,) = folder.glob("*.history-2"), other.glob("*.history-2")
    mine.write_bytes(theirs.read_bytes())  # the recent file continues one that is no longer there
    assert shown(read(top, folder)) == shown(read(top, tmp_path / "fresh"))


def test_names_are_read_as_long_as_there_is_time_and_then_later(
    top: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_PATCHES_AT_ONCE", 1)
    for number in range(4):
        commit(top, f"Commit {number}", {"bus.py": PLAIN * number})
    assert read(top, folder, 0.0, older=False).read.tolist() == [False, False, False, True]
    assert read(top, folder, older=False).read.tolist() == [False, False, False, True]
    assert read(top, folder, 0.0).read.tolist() == [False, False, True, True]
    commit(top, "Commit 4", {"bus.py": PLAIN})
    partly = read(top, folder, older=False)
    assert (partly.read.tolist(), partly.complete) == ([False, False, True, True, True], False)
    assert shown(read(top, folder)) == shown(read(top, folder.with_name("fresh")))
    assert read(top, folder, 0.0).complete


def test_a_clone_without_contents_has_messages_and_paths(top: Path, folder: Path, tmp_path: Path) -> None:
    commit(top, "Wait for the bus", {"bus.py": PLAIN})
    commit(top, "Wait longer", {"bus.py": PLAIN.replace("1", "2")})
    git(top, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--no-checkout", "--filter=blob:none", f"file://{top}", "clone")
    found = shown(read(tmp_path / "clone", folder))
    assert [sorted(one.keys() & {"message", "paths", "names"}) for one in found.values()] == [["message", "paths"]] * 2


def test_a_shallow_clone_that_gets_the_rest(top: Path, folder: Path, tmp_path: Path) -> None:
    for number in range(4):
        commit(top, f"Commit {number}", {"bus.py": PLAIN * (number + 1)})
    git(tmp_path, "clone", "--quiet", "--depth=2", f"file://{top}", "clone")
    assert len(shown(read(tmp_path / "clone", folder))) == 2
    git(tmp_path / "clone", "fetch", "--quiet", "--unshallow")
    assert shown(read(tmp_path / "clone", folder)) == shown(read(top, folder))


def test_a_bare_repository_and_one_without_a_commit(top: Path, folder: Path, tmp_path: Path) -> None:
    assert not is_kept(open_repository(top), folder)
    with pytest.raises(RevisionError, match="there is no commit yet"):
        read(top, folder)
    commit(top, "Commit 0", {"bus.py": PLAIN})
    git(tmp_path, "clone", "--quiet", "--bare", top, "bare.git")
    assert shown(read(tmp_path / "bare.git", folder)) == shown(read(top, folder))
    assert is_kept(open_repository(top), folder)


def test_a_folder_that_cannot_be_written_costs_time_only(top: Path, tmp_path: Path) -> None:
    commit(top, "Commit 0", {"bus.py": PLAIN})
    (tmp_path / "file").write_text("")
    assert len(read(top, tmp_path / "file" / "kept").ids) == 1


def test_commits_that_no_branch_has_any_longer_are_not_found(top: Path, folder: Path) -> None:
    first = commit(top, "Wait for the bus", {"bus.py": PLAIN})
    commit(top, "Wait for the tram", {"bus.py": PLAIN * 2})
    read(top, folder)
    git(top, "reset", "--quiet", "--hard", first)
    commit(top, "Wait for the ferry", {"bus.py": PLAIN * 3})
    found = rank_commits(read(top, folder), "When was waiting for the tram added?", 10)
    assert [one.id for one in found] == [head(top), first]


def test_only_the_newest_of_very_many_commits_are_read(
    top: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_MOST_COMMITS", 2)
    made = [commit(top, f"Commit {number}", {"bus.py": PLAIN * number}) for number in range(4)]
    assert read(top, folder).ids == made[2:]
    made.append(commit(top, "Commit 4", {"bus.py": PLAIN}))
    assert read(top, folder).ids == made[2:]


def test_numbers_are_higher_than_those_of_parents(top: Path, folder: Path) -> None:
    commit(top, "Commit 0", {"bus.py": PLAIN})
    git(top, "checkout", "--quiet", "-b", "side")
    commit(top, "Commit 1", {"walk.py": PLAIN})
    git(top, "checkout", "--quiet", "main")
    commit(top, "Commit 2", {"bus.py": PLAIN * 2})
    git(top, "merge", "--quiet", "--no-edit", "side")
    (table,) = read(top, folder).tables
    assert [len(one) for one in table.parents] == [0, 1, 1, 2]
    assert all(parent < number for number, parents in enumerate(table.parents) for parent in parents)
    assert np.array_equal(table.arrays["read"], [1, 1, 1, 1])
    repository = open_repository(top)
    assert table.ids == [name for name, _ in ancestry(repository.git, head(top), [], 9)]
    assert lineage(repository).ends == frozenset()

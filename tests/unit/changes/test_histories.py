"""Generated histories: what Winnow reads of each is what git says by hand."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import git_repositories as git
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from winnow_engine.changes.changed import Changes
from winnow_engine.changes.question import asked_changes, touched_files, with_change
from winnow_engine.changes.reading import read_changes
from winnow_engine.core import Cancellation
from winnow_engine.errors import NothingChangedError
from winnow_engine.git.repository import open_repository
from winnow_engine.git.trees import tree_changes
from winnow_engine.index.file_text import file_text
from winnow_engine.index.workspace import Workspace, read_workspace
from winnow_engine.question import Question
from winnow_engine.review.review import reviewed
from winnow_engine.storage.store import Store
from winnow_engine.untrusted import printable

NAMES = ["a.py", "sub/b.py", "c d.md", "ü.py", "tab\t.py", b"caf\xe9.py".decode("utf-8", "surrogateescape")]
BODIES = [
    b"def one():\n    return 1\n\n\ndef two():\n    return one()\n",
    b"def one():\r\n    return 1\r\n\r\n\r\ndef two():\r\n    return one()\r\n",
    b"def two():\n    return one()\n\n\ndef one():\n    return 1\n",
    b"# Title\n\nText without a line end",
    b"\0\1binary",
    b"",
    b"caf\xe9 = 1\n",
]
MESSAGES = ["change", "", "ümlaut\n\nbody", "-m --all", "a" * 300]

write = st.tuples(st.just("write"), st.sampled_from(NAMES), st.sampled_from(BODIES))
move = st.tuples(st.just("move"), st.sampled_from(NAMES), st.sampled_from(NAMES))
delete = st.tuples(st.just("delete"), st.sampled_from(NAMES))
commit = st.tuples(st.just("commit"), st.sampled_from(MESSAGES))
merge = st.tuples(st.just("merge"), st.integers(1, 2))
steps = st.lists(st.one_of(write, write, write, move, delete, commit, merge), min_size=1, max_size=8)


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(steps, st.booleans())
def test_changes_are_what_git_says(history: list[tuple[object, ...]], stage: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = git.new(Path(folder) / "top")
        git.commit(top, "first", {"a.py": BODIES[0], "sub/b.py": BODIES[2], "kept.py": BODIES[0]})
        for number, step in enumerate(history):
            _do(top, step, number)
        if stage:
            git.git(top, "add", "--all")
        store = Store(Path(folder) / "index.sqlite")
        workspace = read_workspace(git.sources_of(top), store, Cancellation())
        _check_working_tree(top, workspace)
        _check_commits(top, workspace)
        store.close()


def _do(top: Path, step: tuple[object, ...], number: int) -> None:
    """One step of a history; one that cannot be done does nothing."""
    match step:
        case ("write", str(name), bytes(body)):
            git.write(top, {name: body})
        case ("move", str(old), str(new)) if _place(top, old).is_file() and old != new:
            _place(top, new).parent.mkdir(exist_ok=True)
            _place(top, old).rename(_place(top, new))
        case ("delete", str(name)):
            _place(top, name).unlink(missing_ok=True)
        case ("commit", str(message)):
            git.commit(top, message)
        case ("merge", int(branches)):
            _merge(top, branches, number)


def _merge(top: Path, branches: int, number: int) -> None:
    """Merge so many branches, each with a file of its own: two make an octopus."""
    git.commit(top, "before a merge")
    for one in range(branches):
        git.git(top, "switch", "--quiet", "-c", f"side-{number}-{one}", "main")
        git.commit(top, "aside", {f"side{number}{one}.py": b"SIDE = 1\n"})
    git.git(top, "switch", "--quiet", "main")
    sides = [f"side-{number}-{one}" for one in range(branches)]
    git.git(top, "merge", "--quiet", "--no-ff", "--no-verify", "-m", "merge", *sides)


def _check_working_tree(top: Path, workspace: Workspace) -> None:
    """The files that differ from HEAD are those that git lists, as far as the workspace counts them."""
    found = read_changes(git.sources_of(top), workspace, "", Cancellation())
    listed = _differing(top, "HEAD")
    counted = {file.path for file in workspace.files}
    told = {path for file in found.files for path in {file.path, None if file.removed else file.before_path} - {None}}
    assert {path for path in listed & counted if _more_than_line_ends(top, path)} <= told
    assert told <= listed, (told, listed)
    _check_lines(found, workspace)


def _check_commits(top: Path, workspace: Workspace) -> None:
    """Each commit has the files and contents that git says, and can be asked about and reviewed."""
    repository = open_repository(top)
    for line in git.git(top, "rev-list", "--parents", "--max-count=4", "HEAD").decode().splitlines():
        made, *parents = line.split()
        parent = parents[0] if parents else repository.empty_tree
        by_hand = git.git(top, "diff-tree", "-r", "-z", "--name-only", "--no-renames", parent, made).split(b"\0")[:-1]
        paths = {change.path for change in tree_changes(repository, parent, made, renames=False)}
        assert paths == {path.decode("utf-8", "surrogateescape") for path in by_hand}
        found = read_changes(git.sources_of(top), workspace, made, Cancellation())
        for file in found.files:
            if file.after is not None and file.path in NAMES:
                assert file.after == file_text(file.path, git.git(top, "show", f"{made}:{file.path}"))[0]
        _check_lines(found, workspace)
        _ask(top, workspace, made)


def _check_lines(found: Changes, workspace: Workspace) -> None:
    """Lines that are said to stand in the workspace do, and findings stand at lines that exist."""
    files = {file.path: file for file in workspace.files}
    for one in touched_files(found, workspace):
        for number, text in enumerate(one.units.file.after_lines, 1):
            now = one.now.line(number)
            if now is not None:
                assert files[one.units.file.path].data.splitlines()[now - 1] == text
    for finding in reviewed("a.py:1 high wrong\nkept.py:99 low", found, workspace).findings:
        assert 1 <= finding.start_line <= finding.end_line <= files[finding.path].line_count


def _ask(top: Path, workspace: Workspace, made: str) -> None:
    question = Question("Why?", changes=made)
    try:
        changes = asked_changes(question, git.sources_of(top), workspace, Cancellation())
    except NothingChangedError:
        return
    change = with_change(question, changes, workspace, len).change
    assert change is not None
    assert all(place.end_line >= place.start_line for shown in change.shown for place in shown.places)
    assert all(shown.text.isprintable() or "\n" in shown.text for shown in change.shown)
    assert len(change.related) == len(workspace.units)


def _differing(top: Path, revision: str) -> set[str]:
    """The files of the working tree that git says differ, new ones included."""
    changed = git.git(top, "diff", "--name-only", "-z", "--no-renames", revision).split(b"\0")
    new = git.git(top, "ls-files", "--others", "--exclude-standard", "-z").split(b"\0")
    return {printable(path.decode("utf-8", "surrogateescape")) for path in (*changed, *new) if path}


def _more_than_line_ends(top: Path, path: str) -> bool:
    try:
        before = git.git(top, "show", f"HEAD:{path}")
    except Exception:
        return True
    return before.replace(b"\r\n", b"\n") != (top / path).read_bytes().replace(b"\r\n", b"\n") and b"\0" not in before


def _place(top: Path, name: str) -> Path:
    return Path(os.fsdecode(os.fsencode(top / name)))

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import git_repositories as git
import pytest

from winnow_engine.changes.changed import Changes
from winnow_engine.changes.question import asked_changes
from winnow_engine.changes.reading import folders_in, read_changes
from winnow_engine.core import Cancellation, Folder
from winnow_engine.errors import GitError, NotARepositoryError, PositionError, RevisionError
from winnow_engine.index.workspace import Sources, Workspace
from winnow_engine.question import Question

Of, Read = Callable[..., Changes], Callable[..., Workspace]
CODE = "def a():\n    return 1\n\n\ndef b():\n    return 2\n"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    top = git.new(tmp_path / "repository")
    git.commit(top, "one", {"a.py": CODE, "src/c.py": "C = 1\n" * 9, "src/d.py": "D = 1\n", "image.png": b"\x89PNG\0"})
    git.commit(top, "two: a", {"a.py": CODE.replace("1", "3")})
    return top


def summary(changes: Changes) -> dict[str, str]:
    return {file.path: file.what for file in changes.files}


def test_the_working_tree(top: Path, changes: Of) -> None:
    new = {"new.py": "N = 1\n", ".gitignore": "ignored.py\n", "ignored.py": "I"}
    git.write(top, {"a.py": CODE.replace("2", "4"), **new})
    (top / "src" / "c.py").rename(top / "src" / "moved.py")
    (top / "src" / "d.py").unlink()
    (top / "image.png").write_bytes(b"\x89PNG\0changed")
    found = changes(top)
    assert summary(found) == {
        ".gitignore": "new file",
        "a.py": "changed",
        "new.py": "new file",
        "src/d.py": "file removed",
        "src/moved.py": "renamed from src/c.py",
    }
    assert {file.commit for file in found.files} == {git.head(top)}
    (file,) = (file for file in found.files if file.path == "a.py")
    lines = [(hunk.before, hunk.after) for hunk in file.hunks]
    assert lines == [(range(2, 3), range(2, 3)), (range(6, 7), range(6, 7))]


def test_a_file_that_became_a_folder_or_a_link_is_removed(top: Path, changes: Of) -> None:
    (top / "link").symlink_to("a.py")
    git.commit(top, "a link", {})
    for path in ("src/c.py", "src/d.py", "link"):
        (top / path).unlink()
    git.write(top, {"src/c.py/new.py": "N = 1\n", "link/new.py": "L = 1\n"})
    (top / "src" / "d.py").symlink_to("../a.py")
    removed = dict.fromkeys(("src/c.py", "src/d.py"), "file removed")
    assert summary(changes(top)) == {**dict.fromkeys(("src/c.py/new.py", "link/new.py"), "new file"), **removed}


def test_an_emptied_file_is_changed_wherever_its_lines_went(top: Path, changes: Of) -> None:
    git.commit(top, "blank", {"__init__.py": "", "blank.py": "\n"})
    git.write(top, {"a.py": "", "b.py": (top / "a.py").read_text()})
    found = changes(top)
    assert summary(found) == {"a.py": "changed", "b.py": "new file"}
    assert [(hunk.before, hunk.after) for hunk in found.files[0].hunks] == [(range(1, 7), range(1, 1))]


def test_a_folder_of_many_files_that_moved(top: Path, changes: Of) -> None:
    git.commit(top, "many", {f"old/{n}.py": f"N = {n}\n" * 9 for n in range(60)})
    (top / "old").rename(top / "new")
    git.write(top, {"new/0.py": "N = 0\r\n" * 9, "new/1.py": "N = 1\n" * 9 + "MORE = 1\n"})
    assert summary(changes(top)) == {f"new/{n}.py": f"renamed from old/{n}.py" for n in range(60)}


def test_what_is_staged_is_not_what_is_on_disk(top: Path, changes: Of) -> None:
    git.write(top, {"a.py": CODE + "# staged\n"})
    git.git(top, "add", "a.py")
    git.write(top, {"a.py": CODE + "# not staged\n"})
    (staged,) = changes(top, "staged").files
    assert (staged.after or b"").endswith(b"# staged\n")
    (working,) = changes(top).files
    assert (working.after or b"").endswith(b"# not staged\n")


def test_an_open_document_counts_as_it_is_in_the_editor(top: Path, changes: Of) -> None:
    (file,) = changes(top, **{"a.py": b"UNSAVED = 1\n"}).files
    assert file.after == b"UNSAVED = 1\n"


@pytest.mark.parametrize("asked", ["commit", "HEAD", "HEAD\n", "main", "HEAD~1..HEAD", "HEAD~1..", "..HEAD~0", ":/two"])
def test_a_commit_and_a_range(top: Path, changes: Of, asked: str) -> None:
    if asked == "..HEAD~0":
        assert changes(top, asked).files == ()
        return
    found = changes(top, asked)
    assert summary(found) == {"a.py": "changed"}
    assert found.files[0].commit == git.git(top, "rev-parse", "HEAD~1").decode().strip()


def test_a_branch_is_measured_from_where_it_parted(top: Path, changes: Of) -> None:
    git.git(top, "switch", "--quiet", "-c", "topic")
    git.commit(top, "on the branch", {"src/d.py": "D = 2\n"})
    git.git(top, "switch", "--quiet", "main")
    git.commit(top, "meanwhile", {"src/c.py": "C = 2\n"})
    assert summary(changes(top, "main...topic")) == {"src/d.py": "changed"}
    assert set(summary(changes(top, "main..topic"))) == {"src/c.py", "src/d.py"}
    git.git(top, "switch", "--quiet", "topic")
    git.write(top, {"new.py": "N = 1\n"})
    assert summary(changes(top, "branch")) == {"src/d.py": "changed", "new.py": "new file"}


def test_before_the_first_commit(tmp_path: Path, changes: Of) -> None:
    git.new(tmp_path)
    git.write(tmp_path, {"a.py": CODE})
    assert summary(changes(tmp_path)) == {"a.py": "new file"}
    assert changes(tmp_path, "staged").files == ()
    with pytest.raises(RevisionError, match="no commit yet"):
        changes(tmp_path, "commit")


@pytest.mark.parametrize("asked", ["nobody", "--output=x", "-p", "nobody..HEAD", "HEAD...nobody"])
def test_what_is_no_change(top: Path, changes: Of, asked: str) -> None:
    with pytest.raises(RevisionError, match="no commit is called"):
        changes(top, asked)


def test_a_merge_is_measured_from_its_first_parent(top: Path, changes: Of) -> None:
    for name in ("x", "y"):
        git.git(top, "switch", "--quiet", "-c", name, "main")
        git.commit(top, name, {f"{name}.py": "X = 1\n"})
    git.git(top, "switch", "--quiet", "main")
    git.git(top, "merge", "--quiet", "--no-ff", "-m", "octopus", "x", "y")
    assert set(summary(changes(top, "HEAD"))) == {"x.py", "y.py"}


def test_line_ends_are_no_change(top: Path, changes: Of) -> None:
    (top / "a.py").write_bytes((top / "a.py").read_bytes().replace(b"\n", b"\r\n"))
    assert changes(top).files == ()
    git.write(top, {"a.py": CODE.replace("2", "4").replace("\n", "\r\n")})
    (file,) = changes(top).files
    assert [hunk.after for hunk in file.hunks] == [range(2, 3), range(6, 7)]


def test_files_that_a_filter_stores_otherwise_are_no_change(top: Path, changes: Of) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n"
    git.commit(top, "lfs", {"model.txt": pointer, "secret.txt": b"\0GITCRYPT\0" + b"x" * 20})
    git.write(top, {"model.txt": "one\n", "secret.txt": "two\n"})
    assert changes(top).files == ()


def test_a_file_in_a_folder_that_may_not_be_entered_is_not_removed(
    top: Path, changes: Of, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(top / "src")
    status = Path.lstat

    def refuse(path: Path) -> os.stat_result:
        if path.parent == top / "src":
            raise PermissionError(errno.EACCES, "Permission denied")
        return status(path)

    monkeypatch.setattr(Path, "lstat", refuse)
    assert changes(top).files == ()


def test_a_sparse_working_tree_removes_nothing(top: Path, changes: Of) -> None:
    git.git(top, "sparse-checkout", "set", "--no-cone", "a.py")
    assert not (top / "src").exists()
    assert changes(top).files == ()


def test_beside_a_bare_repository_its_working_trees_are_named_for_what_is_uncommitted(top: Path, changes: Of) -> None:
    beside = top.parent / "beside"
    git.git(top, "clone", "--quiet", "--bare", ".", str(beside / ".bare"))
    git.write(beside, {".git": "gitdir: ./.bare\n"})
    git.git(beside, "worktree", "add", "--quiet", "tree", "main")
    git.write(beside, {"tree/a.py": "A = 1\n"})
    with pytest.raises(RevisionError, match="the folder of a working tree"):
        changes(beside)
    assert summary(changes(beside / "tree")) == {"a.py": "changed"}


def test_other_repositories_within_are_not_of_this_one(top: Path, changes: Of, tmp_path: Path) -> None:
    git.git(top, "submodule", "--quiet", "add", str(top), "sub")
    git.commit(top, "submodule")
    git.commit(git.new(top / "loose"), "inner", {"x.py": "X = 1\n"})
    git.write(top, {"loose/y.py": "Y = 1\n"})
    assert changes(top).files == ()
    assert {file.path: file.unread for file in changes(top, "HEAD").files} == {".gitmodules": "", "sub": "submodule"}


def test_what_is_not_committed_in_submodules_is_read(top: Path, changes: Of) -> None:
    for one, name in ((top, "sub"), (top / "sub", "deep"), (top, "gone"), (top, "broken")):
        git.git(one, "submodule", "--quiet", "add", str(top), name)
    git.commit(top, "submodules")
    git.git(top, "submodule", "--quiet", "deinit", "gone")
    (top / "broken" / ".git").write_text("gitdir: ../nowhere\n")
    git.commit(top / "sub", "two", {"c.py": "C = 1\n"})
    git.write(top, {"sub/new.py": "N = 1\n", "sub/deep/a.py": "A = 1\n", "gone/x.py": "X = 1\n"})
    (top / "sub" / "src" / "d.py").unlink()
    assert summary(changes(top)) == {
        "sub/deep/a.py": "changed",
        "sub/new.py": "new file",
        "sub/src/d.py": "file removed",
    }
    assert summary(changes(top / "sub"))["new.py"] == "new file"


def test_a_submodule_that_is_a_folder_of_the_workspace_is_read_once(top: Path, read: Read) -> None:
    git.git(top, "submodule", "--quiet", "add", str(top), "sub")
    git.commit(top, "submodule")
    (top / "sub" / "a.py").unlink()
    sources, workspace = git.sources_of(top, top / "sub"), read(top, top / "sub")
    found = read_changes(sources, workspace, "", Cancellation())
    assert [(file.path, file.removed) for file in found.files] == [("sub/a.py", True)]
    git.commit(top / "sub", "within")
    git.git(top, "add", "sub")
    (staged,) = read_changes(sources, workspace, "staged", Cancellation()).files
    assert (staged.path, staged.unread) == ("repository/sub", "submodule")


def test_a_link_in_place_of_a_submodule_is_not_followed(top: Path, changes: Of, tmp_path: Path) -> None:
    for name in ("sub", "itself"):
        git.git(top, "submodule", "--quiet", "add", str(top), name)
    git.commit(top, "submodules")
    (top / "sub").rename(tmp_path / "elsewhere")
    shutil.rmtree(top / "itself")
    (top / "sub").symlink_to(tmp_path / "elsewhere")
    (top / "itself").symlink_to(".")
    (tmp_path / "elsewhere" / ".git").write_text(f"gitdir: {top}/.git/modules/sub\n")
    git.git(top, "-C", ".git/modules/sub", "config", "core.worktree", str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere" / "a.py").unlink()
    (top / "a.py").unlink()
    assert summary(changes(top)) == {"a.py": "file removed"}
    (top.parent / "link").symlink_to(top)
    assert summary(changes(top.parent / "link")) == {"a.py": "file removed"}


def test_a_folder_of_a_repository_has_its_own_files_only(top: Path, changes: Of) -> None:
    git.write(top, {"a.py": "A = 1\n", "src/d.py": "D = 2\n"})
    assert summary(changes(top / "src")) == {"d.py": "changed"}
    git.git(top, "mv", "src/c.py", "c.py")
    git.commit(top, "out of the folder")
    found = changes(top / "src", "HEAD")
    assert {file.path for file in found.files} == {"d.py", "../c.py"}


def test_several_folders(top: Path, read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    plain = tmp_path / "plain"
    git.write(plain, {"p.py": "P = 1\n"})
    git.write(top, {"a.py": "A = 1\n"})
    sources, workspace = git.sources_of(top, plain), read(top, plain)
    assert summary(read_changes(sources, workspace, "", Cancellation())) == {"repository/a.py": "changed"}
    with pytest.raises(NotARepositoryError):
        read_changes(Sources((Folder(plain, "plain"),)), workspace, "", Cancellation())


@pytest.mark.parametrize("asked", ["", "staged", "HEAD"])
def test_a_file_of_two_folders_is_of_the_inner_one(top: Path, read: Read, asked: str) -> None:
    git.git(top, "rm", "--quiet", "src/d.py")
    git.write(top, {"src/c.py": ""})
    git.git(top, "add", "src/c.py")
    if asked == "HEAD":
        git.git(top, "mv", "a.py", "src")
        git.commit(top, "away")
    found = read_changes(git.sources_of(top, top / "src"), read(top, top / "src"), asked, Cancellation())
    assert [file.path for file in found.files] == [*(["src/a.py"] if asked == "HEAD" else []), "src/c.py", "src/d.py"]
    assert asked != "HEAD" or found.files[0].before_path == "repository/a.py"


@pytest.mark.parametrize("asked", ["", "staged"])
def test_one_repository_of_several(top: Path, read: Read, tmp_path: Path, asked: str) -> None:
    other, inner = (git.new(tmp_path / name) for name in ("other", "other/inner"))
    for one in (inner, other, top):
        git.write(one, {"src/new.py": "N = 1\n"})
        git.git(one, "add", "src")
    sources = git.sources_of(top / "src", other)
    for one, path in ((top, "src/new.py"), (other, "other/src/new.py"), (inner, "other/inner/src/new.py")):
        question = Question("?", changes=asked, changed_in=folders_in(sources.folders, one))
        found = asked_changes(question, sources, read(top / "src", other), Cancellation())
        assert found is not None
        assert summary(found) == {path: "new file"}
    nested = git.sources_of(other, inner).folders
    assert folders_in(nested, inner) == nested[1:]
    with pytest.raises(PositionError, match="open its folder"):
        folders_in(sources.folders, tmp_path)


def test_a_shallow_clone_lacks_the_commit_before_unless_there_is_none(top: Path, changes: Of, tmp_path: Path) -> None:
    git.git(top, "switch", "--quiet", "--orphan", "island")
    git.commit(top, "alone", {"x.py": "X = 1\n"})
    git.git(tmp_path, "clone", "--quiet", "--depth=2", "--no-single-branch", f"file://{top}", "shallow")
    assert summary(changes(tmp_path / "shallow", "HEAD")) == {"x.py": "new file"}
    with pytest.raises(RevisionError, match="--deepen"):
        changes(tmp_path / "shallow", "origin/main~1")


def test_a_partial_clone_says_how_to_get_what_it_lacks(top: Path, changes: Of, tmp_path: Path) -> None:
    git.git(top, "config", "uploadpack.allowFilter", "true")
    git.git(tmp_path, "clone", "--quiet", "--filter=blob:none", f"file://{top}", "partial")
    with pytest.raises(GitError, match=r"partial.*`git show`"):
        changes(tmp_path / "partial", "HEAD")
    git.git(tmp_path / "partial", "show", "HEAD")
    assert summary(changes(tmp_path / "partial", "HEAD")) == {"a.py": "changed"}


def test_names_that_are_not_utf8(top: Path, changes: Of) -> None:
    git.commit(top, "latin-1", {b"caf\xe9.py".decode("utf-8", "surrogateescape"): "X = 1\n"})
    (file,) = changes(top, "HEAD").files
    assert file.path.isprintable()
    assert changes(top).files == ()


@pytest.mark.parametrize("encoding", ["cp1251", "utf-16"])
def test_both_sides_of_a_change_are_read_in_their_encoding(top: Path, changes: Of, encoding: str) -> None:
    before = "# Проверка срока действия скидки\nX = 1\n"
    git.commit(top, "legacy", {"old.py": before.encode(encoding)})
    assert changes(top).files == ()
    git.write(top, {"old.py": before.replace("1", "2").encode(encoding)})
    git.git(top, "add", "--all")
    for asked in ("", "staged"):
        (file,) = changes(top, asked).files
        assert (file.before, file.after) == (before.encode(), before.replace("1", "2").encode())


def test_a_hostile_object_cannot_be_read_but_says_so(top: Path, changes: Of) -> None:
    git.commit(top, "large", {"large.txt": "x = 1\n" * 900_000})
    (file,) = changes(top, "HEAD").files
    assert "larger" in file.unread


def test_a_repository_that_lost_its_objects(top: Path, changes: Of) -> None:
    shutil.rmtree(top / ".git" / "objects")
    (top / ".git" / "objects").mkdir()
    with pytest.raises(RevisionError):
        changes(top, "HEAD")

from pathlib import Path

import git_repositories as git
import pytest

from winnow_engine.errors import GitError, RevisionError
from winnow_engine.git.base_branch import base_branch
from winnow_engine.git.objects import blobs, commits
from winnow_engine.git.repository import open_repository
from winnow_engine.git.trees import Entry, index_files, staged_changes, tree_changes, tree_files
from winnow_research.evaluation.histories.small_commits import commit_changes


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Two commits on main, one on a branch from the first."""
    top = git.new(tmp_path / "repository")
    git.commit(top, "one", {"a.py": "A = 1\n", "sub/b.py": "B = 1\n" * 20})
    git.git(top, "switch", "--quiet", "-c", "branch")
    git.commit(top, "on the branch", {"c.py": "C = 1\n"})
    git.git(top, "switch", "--quiet", "main")
    git.commit(top, "two", {"a.py": "A = 2\n"})
    return top


def test_a_folder_within_a_repository(top: Path) -> None:
    repository = open_repository(top / "sub")
    assert (repository.prefix, repository.bare, repository.shallow) == ("sub/", False, frozenset())
    assert repository.top == top.resolve()
    assert [entry.path for entry in index_files(repository)] == ["sub/b.py"]
    assert [entry.path for entry in tree_files(repository, git.head(top))] == ["sub/b.py"]


def test_a_folder_whose_name_git_could_take_for_a_pattern(tmp_path: Path) -> None:
    top = git.new(tmp_path / "repository")
    odd = {f"{folder}/a.py": "A = 1\n" for folder in (":(exclude)x", "*")}
    git.commit(top, "one", {**odd, "b.py": "B = 1\n"})
    for path in odd:
        repository = open_repository((top / path).parent)
        assert [entry.path for entry in tree_files(repository, git.head(top))] == [path]


def test_before_the_first_commit(tmp_path: Path) -> None:
    repository = open_repository(git.new(tmp_path))
    git.write(tmp_path, {"a.py": "A = 1\n"})
    git.git(tmp_path, "add", "a.py")
    assert repository.head() is None
    with pytest.raises(RevisionError, match="no commit yet"):
        repository.commit("HEAD")
    (change,) = staged_changes(repository, repository.empty_tree)
    assert (change.before, change.after) == (None, "a.py")


@pytest.mark.parametrize(
    "name", ["nobody", "-p", "--all", "^main", "", " ", "a\nb", "main..branch", "HEAD:a.py", "@{9}"]
)
def test_what_is_no_commit(top: Path, name: str) -> None:
    with pytest.raises(RevisionError, match="no commit is called"):
        open_repository(top).commit(name)


def test_a_branch_that_is_named_like_a_file_and_an_annotated_tag_stand_for_their_commit(top: Path) -> None:
    git.git(top, "branch", "a.py")
    git.git(top, "tag", "--annotate", "v1", "-m", "first")
    assert [open_repository(top).commit(name) for name in ("a.py", "v1")] == [git.head(top)] * 2


def test_unrelated_histories_have_no_common_ancestor(top: Path) -> None:
    repository, main = open_repository(top), git.head(top)
    git.git(top, "switch", "--quiet", "--orphan", "island")
    with pytest.raises(RevisionError, match="no common ancestor"):
        repository.merge_base(main, git.commit(top, "alone", {"x": "1"}))


@pytest.mark.parametrize(
    ("commands", "base"),
    [
        ("switch branch", "refs/heads/main"),
        ("switch main", "refs/heads/main"),  # measured against itself, only what is not committed differs
        ("branch -D branch; branch -m dev; config init.defaultBranch dev; switch -c topic", "refs/heads/dev"),
        ("switch -c topic --track branch", "refs/heads/branch"),
        ("switch branch; branch -D main", None),
        ("switch --detach main", "refs/heads/main"),
        ("clone", "refs/remotes/origin/main"),
        ("clone; switch branch", "refs/remotes/origin/main"),  # its own copy is no base
        ("clone; switch -c ada/fix --track origin/branch", "refs/remotes/origin/branch"),
        ("clone -o upstream; switch branch", "refs/remotes/upstream/main"),
        ("clone -o team/x.y; switch branch", "refs/remotes/team/x.y/main"),
        ("clone -o other; remote add origin .; remote set-head other -d; switch branch", "refs/remotes/other/main"),
        ("clone -o other; remote set-head other branch; switch --detach", "refs/remotes/other/branch"),
        ("clone; switch branch; update-ref -d refs/remotes/origin/branch", "refs/remotes/origin/main"),
    ],
)
def test_the_branch_to_compare_with(top: Path, tmp_path: Path, commands: str, base: str | None) -> None:
    for command in commands.split("; "):
        name, *rest = command.split()
        git.git(top, name, *rest, *([".", str(tmp_path / "clone")] if name == "clone" else []))
        top = tmp_path / "clone" if name == "clone" else top
    if base is not None:
        assert base_branch(open_repository(top)) == base
        return
    with pytest.raises(RevisionError, match="name one"):
        base_branch(open_repository(top))


def test_a_bare_clone(top: Path, tmp_path: Path) -> None:
    git.git(tmp_path, "clone", "--quiet", "--bare", str(top), "bare")
    repository = open_repository(tmp_path / "bare")
    assert repository.bare
    (change,) = tree_changes(repository, repository.commit("main~1"), repository.commit("main"))
    assert blobs(repository.git, [change.before_blob or "", change.after_blob or ""]) == {
        change.before_blob: b"A = 1\n",
        change.after_blob: b"A = 2\n",
    }


def test_a_shallow_clone_says_what_it_lacks(top: Path, tmp_path: Path) -> None:
    git.git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{top}", "shallow")
    repository = open_repository(tmp_path / "shallow")
    assert repository.shallow == {git.head(top)}
    assert commits(repository.git, [git.head(top)])[0].parents == ()
    with pytest.raises(RevisionError, match="--unshallow"):
        repository.commit("HEAD~1")


def test_renames_and_modes(top: Path) -> None:
    git.git(top, "mv", "sub/b.py", "moved.py")
    (top / "link").symlink_to("a.py")
    (top / "a.py").chmod(0o755)
    git.commit(top, "three")
    repository = open_repository(top)
    found = {change.path: change for change in tree_changes(repository, git.head(top) + "~1", git.head(top))}
    assert found["moved.py"].before == "sub/b.py"
    assert not found["link"].regular
    assert (found["a.py"].before_mode, found["a.py"].after_mode) == ("100644", "100755")
    apart = tree_changes(repository, git.head(top) + "~1", git.head(top), renames=False)
    assert {change.path for change in apart} == {"sub/b.py", "moved.py", "link", "a.py"}


def test_what_many_commits_changed_is_what_each_changed(top: Path) -> None:
    git.git(top, "mv", "sub/b.py", "moved.py")
    made = [git.commit(top, "three"), git.commit(top, "four", {":odd.py": "x = 1\n", "a.py": "a = 4\n"})]
    git.git(top, "commit", "--quiet", "--allow-empty", "-m", "five")
    repository = open_repository(top)
    found = commit_changes(repository, [*made, git.head(top)])
    assert found == {one: tree_changes(repository, f"{one}~1", one, renames=False) for one in made}
    assert {change.path for change in found[made[1]]} == {":odd.py", "a.py"}
    assert commit_changes(repository, []) == {}


def test_a_submodule_is_a_commit(top: Path, tmp_path: Path) -> None:
    git.git(top, "submodule", "--quiet", "add", str(top), "inner")
    git.commit(top, "with a submodule")
    repository = open_repository(top)
    changed = {change.path: change for change in tree_changes(repository, git.head(top) + "~1", git.head(top))}
    assert not changed["inner"].regular
    assert blobs(repository.git, [changed["inner"].after_blob or ""]) == {}
    assert open_repository(top / "inner").top == (top / "inner").resolve()


def test_conflicts_are_listed_once(top: Path) -> None:
    git.git(top, "switch", "--quiet", "branch")
    git.commit(top, "other", {"a.py": "A = 3\n"})
    with pytest.raises(Exception, match="merge"):
        git.git(top, "merge", "main")
    repository = open_repository(top)
    assert [entry.path for entry in index_files(repository)] == ["a.py", "c.py", "sub/b.py"]
    assert [change.path for change in staged_changes(repository, git.head(top))] in ([], ["a.py"])


def test_names_and_messages_that_are_not_utf8(top: Path) -> None:
    name = b'caf\xe9\n "x".py'.decode("utf-8", "surrogateescape")
    made = git.commit(top, "three", {name: "X = 1\n"})
    repository = open_repository(top)
    (change,) = tree_changes(repository, made + "~1", made)
    assert change.path == name
    assert Entry(name, "100644", change.after_blob or "") in tree_files(repository, made)
    raw = git.git(top, "cat-file", "commit", "HEAD").replace(b"three", b"caf\xe9")
    other = git.git(top, "hash-object", "-t", "commit", "-w", "--stdin", stdin=raw).decode().strip()
    assert commits(repository.git, [other])[0].subject == "caf\N{REPLACEMENT CHARACTER}"
    git.git(top, "-c", "i18n.commitEncoding=ISO-8859-1", "commit", "--amend", "-q", "-m", b"caf\xe9")
    assert commits(repository.git, [git.head(top)])[0].subject == "café"


def test_sha256(tmp_path: Path) -> None:
    git.commit(git.new(tmp_path, "--object-format=sha256"), "one", {"a.py": "A = 1\n"})
    repository = open_repository(tmp_path)
    (change,) = tree_changes(repository, repository.empty_tree, git.head(tmp_path))
    assert blobs(repository.git, [change.after_blob or ""])[change.after_blob or ""] == b"A = 1\n"


def test_large_blobs_are_left_out(top: Path) -> None:
    git.commit(top, "large", {"large": b"x" * 1000})
    (entry,) = [one for one in tree_files(open_repository(top), git.head(top)) if one.path == "large"]
    assert blobs(open_repository(top).git, [entry.blob], most_bytes=999) == {}


def test_an_unknown_tree_is_an_error_in_gits_words(top: Path) -> None:
    with pytest.raises(GitError, match="diff-tree"):
        tree_changes(open_repository(top), "0" * 40, git.head(top))

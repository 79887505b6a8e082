"""Ignore rules decide as git itself does, on tricky patterns and on generated trees."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from git_repositories import write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from winnow_engine.git import working_trees
from winnow_engine.index.files import explain
from winnow_engine.index.ignore import deciding, patterns
from winnow_research.evaluation.repositories import scan

FILES = (
    "a.py",
    "b.txt",
    "build/a.py",
    "build/keep.py",
    "docs/a.py",
    "docs/build/b.txt",
    "docs/sub/a.py",
    "docs/sub/deep/b.txt",
    "src/[x].py",
    "src/a b.py",
    "src/!bang.py",
    "src/#hash.py",
    "src/build/sub/keep.py",
    "src/Cap.PY",
)


@pytest.fixture(autouse=True)
def _no_settings_of_the_user(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def git(top: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=top, capture_output=True, text=True, check=True).stdout


def make_tree(top: Path, ignore_files: Mapping[str, str]) -> None:
    git(top, "init", "--quiet")
    write(top, {name: ignore_files.get(name, "text\n") for name in (*FILES, *ignore_files)})


def kept_by_git(directory: Path) -> set[str]:
    return set(git(directory, "ls-files", "-z", "--others", "--exclude-standard").split("\0")) - {""}


def is_ignored(top: Path, path: str) -> bool:
    """Whether git ignores a path; Winnow reads an ignored directory when it is the workspace itself."""
    return subprocess.run(["git", "check-ignore", "--quiet", path], cwd=top, check=False).returncode == 0


def kept_by_winnow(directory: Path) -> set[str]:
    return {file.path for file in scan(directory)}


@pytest.mark.parametrize(
    "patterns",
    [
        "build",
        "build/",
        "/build",
        "/build/",
        "build/*\n!build/keep.py",
        "build/\n!build/keep.py",
        "*\n!*/\n!*.py",
        "*.py\n!src/",
        "*.py\n!src/**",
        "/*\n!/docs",
        "/*\n!/docs/\n/docs/*\n!/docs/sub",
        "docs/**",
        "docs/**\n!docs/a.py",
        "docs/**/\n!docs/sub/a.py",
        "docs/**/b.txt",
        "**/build",
        "**/build/**",
        "**/sub/*.py",
        "**/",
        "**",
        "*/",
        "*/**",
        "/**",
        "docs/*",
        "docs/*/",
        "docs/sub",
        "sub/deep",
        "s?b",
        "[bd]*",
        "[!a].txt",
        "[^a].txt",
        "[z-a]",
        "[",
        "src/\\[x\\].py",
        "src/[[]x].py",
        "\\!bang.py",
        "\\#hash.py",
        "#hash.py",
        "!a.py",
        "a.py \nb.txt\\ ",
        "a b.py",
        "\ta.py",
        "a.py\r\nb.txt\r",
        "\ufeffa.py\nb.txt",
        "*.PY",
        "/",
        "//",
        "!",
        "\\",
        "a.py\n\n\n#\n!a.py\na.py",
        "**.py",
        "a**",
        "*a*.*y",
        "*[a-z]*?y",
        "**/s*b/**/*.txt",
        "d*s/**/s*b/**/b*t*t",
        "*u*l*d/**/*",
        "./a.py",
        "docs//a.py",
    ],
)
def test_patterns_mean_what_git_means(tmp_path: Path, patterns: str) -> None:
    make_tree(tmp_path, {".gitignore": patterns})
    assert kept_by_winnow(tmp_path) == kept_by_git(tmp_path)


NAMES = ["a.py", "b.txt", "build", "docs", "sub", "src", "deep"]
GLOBS = ["*", "**", "*.py", "?*", "[a-d]*", "*u*", "*e*p", "*.*t"]
SEGMENTS = st.sampled_from(NAMES + GLOBS)
PATTERNS = st.builds(
    lambda negated, anchor, segments, end: negated + anchor + "/".join(segments) + end,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(SEGMENTS, min_size=1, max_size=4),
    st.sampled_from(["", "", "/"]),
)
IGNORE_FILES = st.dictionaries(
    st.sampled_from([".gitignore", "docs/.gitignore", "src/build/.gitignore", ".git/info/exclude"]),
    st.lists(PATTERNS, min_size=1, max_size=4).map("\n".join),
    max_size=3,
)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(IGNORE_FILES)
def test_generated_trees_are_read_as_git_reads_them(ignore_files: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        make_tree(top, ignore_files)
        assert kept_by_winnow(top) == kept_by_git(top)
        if not is_ignored(top, "docs"):
            assert kept_by_winnow(top / "docs") == kept_by_git(top / "docs")


LINES = PATTERNS | st.sampled_from(["[[]x]", "#", "!", "[z-a]", "/"])


@settings(deadline=None)
@given(
    st.lists(LINES) | st.lists(LINES, min_size=9),
    st.lists(SEGMENTS, min_size=1),
    st.booleans(),
)
def test_patterns_of_a_file_decide_as_they_do_one_by_one(lines: list[str], path: list[str], any_case: bool) -> None:
    files, name = patterns(lines, Path("/w"), "rules", any_case), "/w/" + "/".join(path)
    for is_dir in (False, True):
        one = next((pattern for file in files for pattern in file.found if pattern.matches(name, is_dir)), None)
        assert deciding(files, name, is_dir) is one
    assert len(files) <= 1


@pytest.mark.parametrize("count", [8, 9])
def test_few_patterns_are_not_joined(count: int) -> None:
    (file,) = patterns([f"*.{n}" for n in range(count)], Path("/w"), "rules")
    assert (file.joined is None) == (count == 8)


@pytest.fixture
def user_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "git").mkdir(parents=True)
    return tmp_path / "config" / "git"


def test_the_users_excludes_count(tmp_path: Path, user_config: Path) -> None:
    top = tmp_path / "repo"
    top.mkdir()
    (user_config / "ignore").write_text("*.txt\n/docs/a.py\n")
    make_tree(top, {".gitignore": "!docs/build/b.txt"})
    assert kept_by_winnow(top) == kept_by_git(top)
    assert "docs/a.py" not in kept_by_winnow(top)


def test_the_excludes_file_of_gits_configuration_counts(tmp_path: Path, user_config: Path) -> None:
    top = tmp_path / "repo"
    top.mkdir()
    (tmp_path / "settings").write_text("*.txt\n")
    (tmp_path / "mine").symlink_to("settings")
    (user_config / "config").write_text(f"[core]\n\texcludesFile = {tmp_path / 'mine'}\n")
    make_tree(top, {})
    assert kept_by_winnow(top) == kept_by_git(top)
    assert "b.txt" not in kept_by_winnow(top)


def test_the_shared_excludes_of_a_worktree_count(tmp_path: Path) -> None:
    main, other = tmp_path / "main", tmp_path / "other"
    main.mkdir()
    make_tree(main, {".git/info/exclude": "*.txt"})
    git(main, "add", "a.py")
    git(main, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "a")
    git(main, "worktree", "add", "--quiet", str(other))
    (other / "b.txt").write_text("text\n")
    assert kept_by_winnow(other) == {"a.py"}


SYSTEM, IN_COUNT = "GIT_CONFIG_SYSTEM", "GIT_CONFIG_COUNT"


@pytest.mark.parametrize("place", ["docs", ""])
@pytest.mark.parametrize(
    ("config", "environment"),
    [
        ({"user/config": "[include]\n path = {top}/../more\n", "more": "{named}"}, {}),
        ({"user/config": '[includeIf "gitdir:{top}/"]\n path = {top}/../more\n', "more": "{named}"}, {}),
        ({"user/config": '[includeIf "gitdir:/elsewhere/"]\n path = {top}/../more\n', "more": "{named}"}, {}),
        ({"system": "{named}"}, {SYSTEM: "{top}/../system", "GIT_CONFIG_NOSYSTEM": "0"}),
        ({"global": "{named}"}, {"GIT_CONFIG_GLOBAL": "{top}/../global"}),
        ({"repo/.git/config": "{named}"}, {}),
        ({"repo/.git/config": "[core]\n excludesFile = mine\n", "repo/mine": "/docs/a.py\n"}, {}),
        ({"repo/.git/config": "[extensions]\n worktreeConfig = true\n", "repo/.git/config.worktree": "{named}"}, {}),
        ({"repo/.git/config": "[core]\n excludesFile =\n", "user/ignore": "*.txt\n"}, {}),
        ({"repo/.git/config": "[core\n", "user/ignore": "*.txt\n"}, {}),
        ({}, {IN_COUNT: "1", "GIT_CONFIG_KEY_0": "core.excludesFile", "GIT_CONFIG_VALUE_0": "{top}/../mine"}),
        ({}, {"GIT_CONFIG_PARAMETERS": "'core.excludesfile={top}/../mine'"}),
        ({"user/ignore": "*.txt\n/a.py\n"}, {}),
    ],
)
def test_ignore_rules_count_wherever_git_takes_them_from(
    place: str, config: dict[str, str], environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = tmp_path / "repo"
    top.mkdir()
    make_tree(top, {})
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "git").symlink_to("user")
    named = f"[core]\n excludesFile = {top}/../mine\n"
    write(tmp_path, {"mine": "*.txt\n/docs/a.py\n", "user/x": ""})
    write(tmp_path, {path: text.format(top=top, named=named) for path, text in config.items()})
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(top=top))
    if config.get("repo/.git/config") == "[core\n":  # git says nothing but that it is damaged
        assert not any(path.endswith(".txt") for path in kept_by_winnow(top / place))
        return
    assert kept_by_winnow(top / place) == kept_by_git(top / place)


def test_tracked_files_count_though_they_are_ignored(tmp_path: Path) -> None:
    make_tree(tmp_path, {".gitignore": "*.txt\nbuild/\n"})
    assert "b.txt" not in kept_by_winnow(tmp_path)
    git(tmp_path, "add", "--force", "b.txt", "src/build/sub/keep.py")
    kept = kept_by_winnow(tmp_path)
    assert kept == kept_by_git(tmp_path) | {"b.txt", "src/build/sub/keep.py"}
    assert kept_by_winnow(tmp_path / "src/build") == {"sub/keep.py"}
    git(tmp_path, "rm", "--quiet", "--cached", "b.txt")
    assert "b.txt" not in kept_by_winnow(tmp_path)


def test_a_repository_within_another_has_rules_of_its_own(tmp_path: Path) -> None:
    make_tree(tmp_path, {".gitignore": "*.py\n"})
    (tmp_path / "inner").mkdir()
    make_tree(tmp_path / "inner", {".gitignore": "*.txt\n"})
    inner = {f"inner/{path}" for path in kept_by_git(tmp_path / "inner")}
    assert kept_by_winnow(tmp_path) == {path for path in kept_by_git(tmp_path) if path != "inner/"} | inner


@pytest.mark.parametrize("outer", ["true", "false", ""])
@pytest.mark.parametrize("inner", ["YES", "2", "0", ""])
def test_the_case_of_letters_counts_as_each_repository_is_configured(outer: str, inner: str, tmp_path: Path) -> None:
    rules = {".gitignore": "Build/\n*.TXT\n[C-D]ap.py\n\u00c9.py\n", "src/\u00e9.py": "text\n"}
    for top, value in ((tmp_path, outer), (tmp_path / "inner", inner)):
        top.mkdir(exist_ok=True)
        make_tree(top, rules)
        if value:
            git(top, "config", "core.ignoreCase", value)
    kept = {f"inner/{path}" for path in kept_by_git(tmp_path / "inner")}
    assert kept_by_winnow(tmp_path) == {path for path in kept_by_git(tmp_path) if path != "inner/"} | kept


def test_what_many_repositories_track_is_looked_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        write(tmp_path, {f"{number}/{name}": "text\n" for name in ("a.py", "a.log", "b.log")})
        git(tmp_path, "init", "--quiet", str(number))
        write(tmp_path, {f"{number}/.gitignore": "*.log\n"})
    kept, start, stamp = kept_by_winnow(tmp_path), subprocess.Popen.__init__, working_trees._stamp
    started, looked_at = list[object](), list[Path]()

    def recorded(process: subprocess.Popen[bytes], command: Any, **options: Any) -> None:
        started.append(command)
        start(process, command, **options)

    monkeypatch.setattr(subprocess.Popen, "__init__", recorded)
    monkeypatch.setattr(working_trees, "_stamp", lambda path: looked_at.append(path) or stamp(path))
    assert kept_by_winnow(tmp_path) == kept
    assert (len(looked_at), [command for command in started if "ls-files" in command]) == (20, [])


def test_the_latest_repositories_are_kept_in_mind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(working_trees, "_MOST_TRACKED", 2)
    for name in "abc":
        assert not working_trees.TrackedFiles(tmp_path / name, False).holds(str(tmp_path / name / "a.py"))
    assert [top.name for top, _ in working_trees._LAST_TRACKED] == ["b", "c"]
    write(tmp_path, {"b/a.py": "text\n"})
    git(tmp_path / "b", "init", "--quiet")
    git(tmp_path / "b", "add", "a.py")
    assert working_trees.TrackedFiles(tmp_path / "b", False).holds(str(tmp_path / "b" / "a.py"))
    assert [top.name for top, _ in working_trees._LAST_TRACKED] == ["c", "b"]


def test_where_case_does_not_count_tracked_files_and_winnows_own_rules_are_as_before(tmp_path: Path) -> None:
    make_tree(tmp_path, {".gitignore": "BUILD\n*.TXT\n", ".winnowignore": "A.py\n"})
    git(tmp_path, "config", "core.ignoreCase", "true")
    git(tmp_path, "add", "--force", "b.txt")
    (tmp_path / "b.txt").rename(tmp_path / "B.txt")
    kept = kept_by_winnow(tmp_path)
    assert kept == kept_by_git(tmp_path) | {"B.txt"}
    assert "docs/a.py" in kept


def test_case_that_does_not_count_without_a_value_loses_no_file_of_patterns(tmp_path: Path) -> None:
    make_tree(tmp_path, {"src/a.py": "text\n"})
    (tmp_path / "patterns").write_text("SRC\n")
    with (tmp_path / ".git/config").open("a") as config:
        config.write(f"[core]\n\tignorecase\n\texcludesFile = {tmp_path / 'patterns'}\n")
    assert "src/a.py" not in kept_by_winnow(tmp_path) == kept_by_git(tmp_path)


COMMIT = ("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "a")


@pytest.mark.parametrize(
    ("root", "worktrees", "kept"),
    [
        ("main", ["main/.worktrees/one", "main/.claude/worktrees/two"], {"a.py"}),
        ("", ["wt/one"], {"main/a.py"}),
        ("", ["a/one"], {"main/a.py"}),
        ("main/.worktrees/one", ["main/.worktrees/one"], {"a.py"}),
        ("main/.worktrees/one", ["main/.worktrees/one", "main/.worktrees/one/sub/two"], {"a.py"}),
        ("wt", ["wt/one", "wt/two"], {"one/a.py"}),
        ("wt", ["wt/one", "main/wt"], {"one/a.py"}),
    ],
)
def test_worktrees_of_a_repository_count_once(root: str, worktrees: list[str], kept: set[str], tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main", "main")
    write(tmp_path, {"main/a.py": "A = 1\n"})
    git(tmp_path / "main", "add", "a.py")
    git(tmp_path / "main", *COMMIT)
    for worktree in worktrees:
        git(tmp_path / "main", "worktree", "add", "--quiet", "--detach", str(tmp_path / worktree))
    assert kept_by_winnow(tmp_path / root) == kept
    for worktree in worktrees:
        assert explain(tmp_path / root, tmp_path / worktree / "a.py").included == any(
            (tmp_path / root / path) == tmp_path / worktree / "a.py" for path in kept
        )


def test_of_the_worktrees_of_a_bare_repository_the_default_branch_counts(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main", "made")
    write(tmp_path, {"made/a.py": "A = 1\n", "project/.git": "gitdir: ./.bare\n"})
    git(tmp_path / "made", "add", "a.py")
    git(tmp_path / "made", *COMMIT)
    project = tmp_path / "project"
    git(tmp_path, "clone", "--quiet", "--bare", "made", "project/.bare")
    git(project, "worktree", "add", "--quiet", "-b", "feature", str(project / "feature"))
    git(project, "worktree", "add", "--quiet", str(project / "main"), "main")
    assert kept_by_winnow(project) == {"main/a.py"}
    assert kept_by_winnow(project / "feature") == {"a.py"}


def test_a_submodule_counts_once_and_its_worktrees_not(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main", "part")
    write(tmp_path, {"part/a.py": "A = 1\n"})
    git(tmp_path / "part", "add", "a.py")
    git(tmp_path / "part", *COMMIT)
    top = tmp_path / "top"
    git(tmp_path, "init", "--quiet", "top")
    git(top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "part"), "lib/part")
    git(top, *COMMIT)
    git(top / "lib/part", "worktree", "add", "--quiet", "--detach", str(top / ".worktrees/part"))
    git(top, "worktree", "add", "--quiet", "--detach", str(top / ".worktrees/top"))
    config = top / ".git/modules/lib/part/config"
    config.write_text("\n" * 90_000 + config.read_text())  # was read in quadratic time
    assert kept_by_winnow(top) == {".gitmodules", "lib/part/a.py"}

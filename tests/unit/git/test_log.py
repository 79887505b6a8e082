"""Commits read many at a time: their order, and messages, names and paths that are unusual."""

from pathlib import Path

import pytest
from git_repositories import commit, git, head, new, write

from winnow_engine.core import day
from winnow_engine.git.log import Logged, ancestry, lineage, logged, patches, touched_paths
from winnow_engine.git.objects import commits
from winnow_engine.git.repository import open_repository
from winnow_engine.index.languages import all_languages

ATTRIBUTES = Path(__file__).parents[3] / "engine" / "winnow_engine" / "git" / "attributes"
_NO_CODE = {"json", "markdown", "toml", "yaml"}


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return new(tmp_path / "project")


def all_logged(top: Path) -> list[Logged]:
    repository = open_repository(top)
    ids = [name for name, _ in ancestry(repository.git, head(top), [], 100)]
    return list(logged(repository.git, ids))


def all_paths(top: Path) -> dict[str, tuple[str, ...]]:
    repository = open_repository(top)
    return touched_paths(repository.git, [name for name, _ in ancestry(repository.git, head(top), [], 100)])


def test_merges_octopuses_and_empty_commits_are_listed_after_their_parents(top: Path) -> None:
    commit(top, "one", {"a.py": "a = 1\n"})
    for name in ("left", "right"):
        git(top, "checkout", "--quiet", "-b", name, "main")
        commit(top, name, {f"{name}.py": "x = 1\n"})
    git(top, "checkout", "--quiet", "main")
    commit(top, "")
    git(top, "merge", "--quiet", "--no-edit", "left", "right")
    found = ancestry(open_repository(top).git, head(top), [], 100)
    assert len(found) == 5
    seen: set[str] = set()
    for name, parents in found:
        assert seen.issuperset(parents)
        seen.add(name)
    assert len(found[-1][1]) == 3
    paths = all_paths(top)
    by_message = {one.message.strip(): paths[one.id] for one in all_logged(top)}
    merge = all_logged(top)[-1].message.strip()
    assert by_message == {"one": ("a.py",), "left": ("left.py",), "right": ("right.py",), "": (), merge: ()}
    assert list(paths) == [name for name, _ in found]


def test_only_what_others_lack_is_listed_and_a_commit_that_is_gone_does_not_matter(top: Path) -> None:
    first = commit(top, "one", {"a.py": "a = 1\n"})
    second = commit(top, "two", {"a.py": "a = 2\n"})
    listed = open_repository(top).git
    assert ancestry(listed, second, [first, "1" * 40], 100) == [(second, [first])]
    assert ancestry(listed, second, [second], 100) == []
    assert [name for name, _ in ancestry(listed, second, [], 1)] == [second]


def raw_commit(top: Path, message: bytes, header: bytes = b"") -> None:
    """A commit as another program may have written it: git itself would make UTF-8 of it."""
    tree = git(top, "write-tree")
    parents = [b"parent " + git(top, "rev-parse", "HEAD")] if git(top, "for-each-ref") else []
    who = b"J\xf6rg <j@example.org> 1700000000 +0100\n"
    data = b"".join([b"tree ", tree, *parents, b"author ", who, b"committer ", who, header, b"\n", message])
    made = git(top, "hash-object", "-t", "commit", "-w", "--stdin", stdin=data).decode().strip()
    git(top, "reset", "--quiet", "--hard", made)


def test_what_is_not_utf_8_and_what_looks_like_the_format_is_read(top: Path) -> None:
    write(top, {"\udcff/\u00e4 b\n.py": "x = 1\n"})
    git(top, "add", "--all")
    raw_commit(top, b"gr\xfc\xdfe\n\n" + b"a" * 40 + b"\n@@ -1 +1 @@ def no():\n")
    raw_commit(top, b"gr\xfc\xdfe", b"encoding ISO-8859-1\n")
    first, second = all_logged(top)
    assert first.message.startswith("gr\ufffd\ufffde\n\naaaa")
    assert list(all_paths(top).values()) == [("\ufffd/\u00e4 b\n.py",), ()]
    assert (first.author, second.author, second.message) == ("J\ufffdrg", "J\u00f6rg", "gr\u00fc\u00dfe")
    assert second.committed_at == 1_700_000_000


def crafted(top: Path, **changed: bytes) -> None:
    """A commit on top, with some of the lines of its object replaced."""
    lines = git(top, "cat-file", "commit", "HEAD").split(b"\n")
    made = b"\n".join(changed.get(line.split(b" ")[0].decode(), line) for line in lines)
    name = git(top, "hash-object", "--literally", "-t", "commit", "-w", "--stdin", stdin=made).decode().strip()
    git(top, "update-ref", "HEAD", name)


@pytest.mark.parametrize(
    ("time", "read"),
    [
        (b"253402300799 +0000", "9999-12-31"),
        (b"253402300800 +0000", "9999-12-31"),
        (b"99999999999999999999999999 +0000", "9999-12-31"),
        (b"9" * 5000 + b" +0000", "1970-01-01"),
        (b"-5 +0000", "1970-01-01"),
        (b"", "1970-01-01"),
        (b"soon", "1970-01-01"),
    ],
)
def test_a_commit_of_any_time_is_read(time: bytes, read: str, top: Path) -> None:
    commit(top, "one", {"a.py": "a = 1\n"})
    crafted(top, author=b"author A <a@b> " + time, committer=b"committer A <a@b> " + time)
    (one,) = commits(open_repository(top).git, [head(top)])
    assert (day(one.authored_at), day(one.committed_at)) == (read, read)
    assert day(all_logged(top)[-1].committed_at) in (read, "1970-01-01")  # which git itself says of too many digits


def test_a_shallow_clone_says_where_it_ends(top: Path, tmp_path: Path) -> None:
    for number in range(3):
        commit(top, f"Number {number}", {"a.py": f"a = {number}\n"})
    git(tmp_path, "clone", "--quiet", "--depth=2", f"file://{top}", "clone")
    assert [one.message.strip() for one in all_logged(tmp_path / "clone")] == ["Number 1", "Number 2"]
    whole, shallow = (lineage(open_repository(place)) for place in (top, tmp_path / "clone"))
    assert whole.identity != shallow.identity
    assert (len(whole.ends), len(shallow.ends)) == (0, 1)


def test_nothing_asked_is_nothing_read(top: Path) -> None:
    commit(top, "one", {"a.py": "a = 1\n"})
    asked = open_repository(top).git
    assert (list(logged(asked, [])), touched_paths(asked, []), patches(asked, [])) == ([], {}, b"")


def test_patches_have_the_unit_around_a_change_and_code_only(top: Path) -> None:
    body = "".join(f"        step({n})\n" for n in range(9))
    commit(top, "one", {"bus.py": f"class Bus:\n    def wait(self):\n{body}", "bus.lock": "x\n", "bus.ts": ""})
    script = "class Bus {\n  wait(a: number) {\n" + body + "  }\n}\n"
    commit(top, "two", {"bus.py": f"class Bus:\n    def wait(self):\n{body}        end()\n", "bus.ts": script})
    third = commit(top, "three", {"bus.lock": "y\n", "bus.ts": script.replace("step(8)", "stop(8)")})
    repository = open_repository(top)
    text = patches(repository.git, [third, git(top, "rev-parse", "HEAD~").decode().strip()]).decode()
    assert "@@ wait(a: number) {" in text
    assert "@@ def wait(self):" in text
    assert "Binary files a/bus.lock and b/bus.lock differ" in text


def test_every_language_with_code_is_read() -> None:
    named = {line.split()[0] for line in ATTRIBUTES.read_text().splitlines() if line.startswith("*.")}
    wanted = {
        f"*{suffix}" for language in all_languages() if language.name not in _NO_CODE for suffix in language.suffixes
    }
    assert named == wanted

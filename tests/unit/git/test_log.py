"""Commits read many at a time: messages and names that are unusual, and searches that are cut short."""

from pathlib import Path

import pytest
from git_repositories import commit, git, head

from winnow_engine.core import day
from winnow_engine.git.objects import Commit, commits, newest_commits, touching_commits
from winnow_engine.git.repository import open_repository


def all_logged(top: Path) -> list[Commit]:
    """All commits, oldest first."""
    return newest_commits(open_repository(top), head(top), 100)[::-1]


def test_merges_octopuses_and_empty_commits_are_listed(top: Path) -> None:
    commit(top, "one", {"a.py": "a = 1\n"})
    for name in ("left", "right"):
        git(top, "checkout", "--quiet", "-b", name, "main")
        commit(top, name, {f"{name}.py": "x = 1\n"})
    git(top, "checkout", "--quiet", "main")
    commit(top, "")
    git(top, "merge", "--quiet", "-m", "merged", "left", "right")
    assert {one.message.strip(): len(one.parents) for one in all_logged(top)} == {
        "one": 0,
        "left": 1,
        "right": 1,
        "": 1,
        "merged": 3,
    }
    assert [one.message.strip() for one in newest_commits(open_repository(top), head(top), 1)] == ["merged"]


def test_commits_that_touched_a_text_a_file_or_lines(top: Path) -> None:
    first = commit(top, "one", {"a.py": "a = 1\nb = 1\n"})
    second = commit(top, "two", {"a.py": "a = 1\nb = 2\n", "- :b\n.py": "c = 3\n"})
    third = commit(top, "three", {"- :b\n.py": "c = 4\n"})
    repository = open_repository(top)
    assert touching_commits(repository, third, ("-Sa =", "--"), 9.0) == ([first], True)
    assert touching_commits(repository, third, ("-L2,2:a.py",), 9.0) == ([second, first], True)
    assert touching_commits(repository, third, ("-L1,1:- :b\n.py",), 9.0) == ([third, second], True)
    assert touching_commits(repository, third, ("--follow", "--", "- :b\n.py"), 9.0) == ([third, second], True)
    assert touching_commits(repository, third, ("-L1,1:gone.py",), 9.0) == ([], False)
    assert touching_commits(repository, third, ("--", "a.py"), 0.0)[1] is False


@pytest.mark.parametrize("setting", ["log.showRoot=false", "log.follow=true", "diff.relative=true", "color.ui=always"])
def test_settings_of_the_user_change_nothing(setting: str, top: Path) -> None:
    first = commit(top, "one", {"sub/a.py": "a = 1\n", "b.py": "b = 1\n"})
    git(top, "config", *setting.split("="))
    for folder in (top, top / "sub"):
        assert touching_commits(open_repository(folder), first, ("-Sb =", "--"), 9.0) == ([first], True)


def raw_commit(top: Path, message: bytes, header: bytes = b"") -> None:
    """A commit as another program may have written it: git itself would make UTF-8 of it."""
    tree = git(top, "write-tree")
    parents = [b"parent " + git(top, "rev-parse", "HEAD")] if git(top, "for-each-ref") else []
    who = b"J\xf6rg <j@example.org> 1700000000 +0100\n"
    data = b"".join([b"tree ", tree, *parents, b"author ", who, b"committer ", who, header, b"\n", message])
    made = git(top, "hash-object", "-t", "commit", "-w", "--stdin", stdin=data).decode().strip()
    git(top, "reset", "--quiet", "--hard", made)


def test_what_is_not_utf_8_and_what_looks_like_the_format_is_read(top: Path) -> None:
    raw_commit(top, b"gr\xfc\xdfe\n\n" + b"a" * 40 + b"\n@@ -1 +1 @@ def no():\n")
    raw_commit(top, b"gr\xfc\xdfe", b"encoding ISO-8859-1\n")
    first, second = all_logged(top)
    assert first.message.startswith("gr\ufffd\ufffde\n\naaaa")
    assert (first.author, second.author, second.message) == ("J\ufffdrg", "J\u00f6rg", "gr\u00fc\u00dfe")
    assert second.committed_at == 1_700_000_000


@pytest.mark.parametrize("encoding", [b"idna", b"punycode", b"hex", b"\xff", b""])
def test_a_message_in_an_encoding_of_no_text_is_read_as_utf8(encoding: bytes, top: Path) -> None:
    raw_commit(top, b"caf\xc3\xa9 \xff", b"encoding %s\n" % encoding)
    assert all_logged(top)[-1].message == "café \N{REPLACEMENT CHARACTER}"


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

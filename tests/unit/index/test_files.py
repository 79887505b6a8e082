"""Which files of an ordinary workspace count, and what Winnow says about the others."""

from __future__ import annotations

import json
import ntpath
import os
from contextlib import nullcontext
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from winnow_engine.config import FileRules
from winnow_engine.errors import WorkspaceError
from winnow_engine.index.file_rules import EntryRules
from winnow_engine.index.files import explain, folders, left_out
from winnow_engine.index.ignore import IgnoreRules
from winnow_engine.index.name_rules import is_test, names_tests, reason_against_path
from winnow_engine.untrusted import printable
from winnow_research.evaluation.repositories import SourceFile, scan

LONG = b"x" * 6_000


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    top = tmp_path / "workspace"
    top.mkdir()
    return top


def write(root: Path, path: str, data: bytes = b"text\n") -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_bytes(data)


def paths(root: Path, rules: FileRules | None = None) -> list[str]:
    return [file.path for file in scan(root, rules)]


def reason(root: Path, path: str, rules: FileRules | None = None) -> str:
    """Why a file is left out, after checking that `scan` says the same."""
    reported: dict[str, str] = {}
    assert path not in [file.path for file in scan(root, rules, reported.__setitem__)]
    verdict = explain(root, Path(path), rules)
    assert not verdict.included
    assert verdict.reason in reported.values()
    return verdict.reason


class WindowsEntry:
    """An entry of a folder, with its path as Windows joins it."""

    def __init__(self, folder: str, entry: os.DirEntry[str]) -> None:
        self.path, self._entry = ntpath.join(folder, entry.name), entry

    def __getattr__(self, name: str) -> Any:
        return getattr(self._entry, name)


class WindowsFolder(nullcontext[list[WindowsEntry]]):
    """The entries of a folder, as `os.scandir` lists them."""

    def __init__(self, folder: str | Path, scandir: Any = os.scandir) -> None:
        super().__init__([WindowsEntry(str(folder), entry) for entry in scandir(folder)])

    def close(self) -> None:
        """Nothing is open."""


def test_paths_have_slashes_where_the_system_joins_folders_with_backslashes(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("src/deep/a.py", "src/out/b.py"):
        write(root, path)
    write(root, ".gitignore", b"src/out/\n")
    monkeypatch.setattr(os, "scandir", WindowsFolder)
    assert paths(root) == [".gitignore", "src/deep/a.py"]


def test_files_come_with_their_bytes_in_path_order(root: Path) -> None:
    for path in ("b.py", "a/z.py", "a-b.py", "a.py"):
        write(root, path, path.encode())
    assert list(scan(root)) == [SourceFile(path, path.encode()) for path in ("a-b.py", "a.py", "a/z.py", "b.py")]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".env", "secret: matches '.env'"),
        ("app/.env.production", "secret: matches '.env.*'"),
        ("server.pem", "secret: matches '*.pem'"),
        ("Server.KEY", "secret: matches '*.key'"),
        ("keys/id_rsa", "secret: matches 'id_rsa'"),
        (".npmrc", "secret: matches '.npmrc'"),
        ("credentials.json", "secret: matches 'credentials.json'"),
        ("Cargo.lock", "lock file: matches '*.lock'"),
        ("package-lock.json", "lock file: matches 'package-lock.json'"),
        ("logo.png", "binary: matches '*.png'"),
        ("jquery.min.js", "minified: matches '*.min.js'"),
        ("api_pb2.py", "generated: matches '*_pb2.py'"),
        ("node_modules/left-pad/index.js", "a tool's own directory: node_modules/"),
        ("lib/__pycache__/a.py", "a tool's own directory: __pycache__/"),
        ("winnow.egg-info/PKG-INFO", "a tool's own directory: winnow.egg-info/"),
    ],
)
def test_names_left_out_by_default(root: Path, path: str, expected: str) -> None:
    write(root, path)
    assert reason(root, path) == expected


SECRETS = """.envrc .streamlit/secrets.toml .kube/config kubeconfig server.ppk local.settings.json .vault_pass
    auth.json id_rsa.bak id_ed25519_work a.p12 .pypirc .netrc credentials app.tfvars a.tfstate .dockerconfigjson
    .docker/config.json age/keys.txt config/master.key my-service-account.json .env.js .ENV.local secrets.dev.yaml
    .secrets .cargo/credentials.toml acme-firebase-adminsdk-1.json"""
LOCK_FILES = """pixi.lock deno.lock .terraform.lock.hcl MODULE.bazel.lock conda-lock.yml pylock.toml go.sum
    gradle.lockfile"""
TOOLS = """env2/lib/python3.12/site-packages/a.py .tox/a.py .nox/a.py .pixi/a.py bower_components/a.js .gradle/a.kt
    .yarn/cache/a.js vendor/bundle/a.rb .ipynb_checkpoints/a.py"""
ALIKE = """id_rsa_utils.py id_rsa.md credentials.py secrets_test.go key.pem.example .env.local.example .env.d.ts
    keys.txt config config.json app/config settings.xml auth.py service_account.go kubeconfig.go lock.py env/a.py
    .yarn/patches/a.js vendor/lib/a.rb cache/a.py bundle/a.js bazel-rules/a.bzl pods/a.go"""


@pytest.mark.parametrize(
    ("paths_", "expected"), [(SECRETS, "secret"), (LOCK_FILES, "lock file"), (TOOLS, "a tool's own directory")]
)
def test_kinds_of_names_left_out_by_default(root: Path, paths_: str, expected: str) -> None:
    for path in paths_.split():
        write(root, path)
        assert reason_against_path(path) == reason(root, path)
        assert reason(root, path).startswith(expected), path


def test_names_that_only_resemble_secrets_and_tools_count(root: Path) -> None:
    for path in ALIKE.split():
        write(root, path)
    assert paths(root) == sorted(ALIKE.split())


@pytest.mark.parametrize("marker", ["pyvenv.cfg", "conda-meta/history", "Pods.xcodeproj/a", "CACHEDIR.TAG"])
def test_environments_are_known_by_what_is_in_them(root: Path, marker: str) -> None:
    write(root, f"env/{marker}")
    write(root, "env/lib/a.py")
    assert reason(root, "env/lib/a.py").endswith(f"has {marker.split('/')[0]}")
    assert list(folders(root)) == [root]
    assert "lib/a.py" in paths(root / "env")
    write(root, ".winnowignore", b"!env/\n")
    assert "env/lib/a.py" in paths(root)


def test_a_bare_repository_is_known_without_its_configuration(root: Path) -> None:
    for path in ("HEAD", "packed-refs", "objects/info/packs", "refs/heads/main"):
        write(root, f"mirror.git/{path}")
    assert reason(root, "mirror.git/packed-refs") == "version control: a bare repository"


def test_the_configuration_of_a_bare_repository_is_secret_where_that_is_the_workspace(root: Path) -> None:
    for path in ("HEAD", "config", "objects/info/packs", "refs/heads/main", "tree/config"):
        write(root, path)
    assert {"HEAD", "tree/config"} <= set(paths(root))
    assert reason(root, "config") == "secret: the repository's configuration"
    write(root, ".winnowignore", b"!config\n")
    assert "config" in paths(root)


def test_a_folder_of_gits_own_is_no_workspace_but_a_working_tree_in_it_is(root: Path) -> None:
    for path in (".git/config", ".git/hooks/pre-commit.sample", ".git/tree/.git", ".git/tree/a.py"):
        write(root, path)
    for folder in (".git", ".git/hooks"):
        with pytest.raises(WorkspaceError) as error:
            paths(root / folder)
        assert str(error.value).endswith(f"name the working tree, {root}")
    assert paths(root / ".git/tree") == ["a.py"]


@pytest.mark.parametrize(
    "name",
    [
        *(
            "\u8a2d\u8a08\u3000\u8cc7\u6599/a.md",
            "\U0001f469\u200d\U0001f4bb.md",
            "9.41\u202fAM.md",
            "my\u00a0notes.md",
        ),
        *("a\u0301.md", "\u00e1.md", "\u200b\u200f.md", 'it\'s "a\\b".md', "\ue000.md", "x" * 252 + ".md"),
    ],
)
def test_names_with_any_character_that_can_be_shown_count(root: Path, name: str) -> None:
    write(root, name)
    assert paths(root) == [name] == [printable(name)]
    assert explain(root, Path(name)).included


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "empty"),
        (b"-----BEGIN OPENSSH PRIVATE KEY-----\nx\n", "secret: holds a private key"),
        (b"\xef\xbb\xbf-----BEGIN RSA PRIVATE KEY-----\nx\n", "secret: holds a private key"),
        (b'{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----"}', "secret: holds a private key"),
        (b"# created: 2026\n# public key: age1x\nAGE-SECRET-KEY-1X\n", "secret: holds a private key"),
        (b"apiVersion: v1\nusers:\n- user:\n    client-key-data: eA==\n", "secret: holds a private key"),
        (b" \r\n\t\n", "empty"),
        (b"text\0", "binary: NUL byte"),
        (b"text\n" * 5_000 + b"\0", "binary: NUL byte"),
        (b"\xd8\xc1\xe4\x90\x8d\x8f\x99\xff\x9c\x0e\x11" * 9, "binary: text in no known encoding"),
        (b"\x01\x02\x03\x04text", "binary: mostly control characters"),
        (b"ok\n" + LONG + b"\nok\n", "minified: longest line 6,000 columns"),
        (b"# @generated by tool\n", "generated: marked '@generated' in its head"),
        (
            b"// Code generated by protoc. DO NOT EDIT.\npackage a\n",
            "generated: marked 'generated by protoc. DO NOT EDIT' in its head",
        ),
        (
            b"/*\n * This file was automatically generated.\n */\n",
            "generated: marked 'This file was automatically generated' in its head",
        ),
    ],
)
def test_contents_left_out_by_default(root: Path, data: bytes, expected: str) -> None:
    write(root, "a.go", data)
    assert reason(root, "a.go") == expected


@pytest.mark.parametrize(
    ("path", "data"),
    [
        (".env.example", b"TOKEN=\n"),
        ("id_rsa.pub", b"ssh-rsa AAAA\n"),
        ("latin1.py", "# naïve café\n".encode("latin-1")),
        ("utf16.ps1", "text".encode("utf-16")),
        ("bom.py", b"\xef\xbb\xbfimport os\n"),
        ("names.py", b'"""Names of auto-generated keys."""\n\nKIND = "@generated"\n'),
        ("escape.txt", b"\x1b[31mred\x1b[0m\n"),
        ("keyring.py", b"import keyring\n"),
        ("keys.md", b"# Keys\n\n-----BEGIN PRIVATE KEY-----\n"),
        ("a.crt", b"-----BEGIN CERTIFICATE-----\nx\n"),
        ("tokens\u00e9.py", b"x\n"),
        ("with space.py", b"x\n"),
    ],
)
def test_files_that_only_look_unwanted_count(root: Path, path: str, data: bytes) -> None:
    write(root, path, data)
    assert paths(root) == [path]
    assert all(explain(root, one).included for one in (Path(path), Path(path).parent))


def test_the_size_limit_is_inclusive_and_the_users(root: Path) -> None:
    write(root, "a.txt", b"word\n" * 20)
    assert paths(root, FileRules(max_bytes=100)) == ["a.txt"]
    assert reason(root, "a.txt", FileRules(max_bytes=99)) == "larger than 99 bytes (100)"


def test_a_notebook_may_be_large_if_its_code_is_not(root: Path) -> None:
    outputs = [{"data": {"image/png": "A" * 3_000_000}}]
    for name, code in (("a.ipynb", "x = 1"), ("b.ipynb", "x = 1\n" * 300_000)):
        cells = [{"cell_type": "code", "source": code, "outputs": outputs}]
        write(root, name, json.dumps({"cells": cells}).encode())
    assert paths(root) == ["a.ipynb"]
    assert reason(root, "b.ipynb").startswith("larger than 1,000,000 bytes (1,")


def test_a_path_need_not_have_a_slash(root: Path) -> None:
    reason = EntryRules(root, FileRules()).reason_in_name("id_rsa", False, None, IgnoreRules())
    assert reason == "secret: matches 'id_rsa'"


def test_an_ignored_file_is_explained_by_pattern_file_and_line(root: Path) -> None:
    write(root, ".gitignore", b"# outputs\n\nbuild/\n")
    write(root, "docs/.gitignore", b"*.html\n")
    write(root, "build/deep/a.py")
    write(root, "docs/a.html")
    assert reason(root, "build/deep/a.py") == "ignored by 'build/' (.gitignore:3)"
    assert reason(root, "docs/a.html") == "ignored by '*.html' (docs/.gitignore:1)"


def test_names_leave_out_files_that_are_gone_but_none_for_what_is_on_disk(root: Path) -> None:
    write(root, ".gitignore", b"*.log\nout/\n")
    write(root, "src/.winnowignore", b"!kept.log\n")
    for file in ("out/deep/a.py", "environment/pyvenv.cfg"):
        write(root, file)
    for large in ("large.py", "once"):
        write(root, large, b"x\n" * 1_000_000)
    (root / "link").symlink_to("src")
    files = ["a.log", "src/b.log", "src/kept.log", "src/c.py", "large.py", "out/deep/a.py", "gone/a.log", "a\n.log"]
    assert left_out(root, [*files, "once/a.py", "link/a.py", "environment/a.py"]) == {
        "a.log",
        "src/b.log",
        "out",
        "a\n.log",
    }


def test_the_folders_above_many_files_are_looked_up_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[str]()
    monkeypatch.setattr(
        "winnow_engine.index.files.PurePosixPath", lambda path: made.append(path) or PurePosixPath(path)
    )
    write(root, "src/a.key")
    assert left_out(root, ["a.py", "src/a.key", "src/b.py", "src/c.py"]) == {"src/a.key"}
    assert made == ["", "src"]


def test_winnowignore_leaves_out_and_takes_back(root: Path) -> None:
    write(root, ".gitignore", b"notes/\n")
    write(root, ".winnowignore", b"!notes/\n!deploy.pem\n!bundle.js\nold.py\n")
    write(root, "bundle.js", LONG)
    for path in ("notes/a.md", "deploy.pem", "old.py"):
        write(root, path)
    assert set(paths(root)) == {".gitignore", ".winnowignore", "bundle.js", "deploy.pem", "notes/a.md"}
    assert explain(root, Path("deploy.pem")).reason == "taken back by '!deploy.pem' (.winnowignore:2)"
    assert reason(root, "old.py") == "ignored by 'old.py' (.winnowignore:4)"


def test_gitignore_cannot_bring_a_secret_in(root: Path) -> None:
    write(root, ".gitignore", b"!*.pem\n")
    write(root, "test.pem")
    assert reason(root, "test.pem") == "secret: matches '*.pem'"


def test_the_users_patterns_restrict_and_leave_out(root: Path) -> None:
    for path in ("src/a.py", "src/test_a.py", "docs/a.md"):
        write(root, path)
    rules = FileRules(include=("src/",), exclude=("test_*",))
    assert paths(root, rules) == ["src/a.py"]
    assert reason(root, "docs/a.md", rules) == "matches none of the patterns to include"
    assert reason(root, "src/test_a.py", rules) == "ignored by 'test_*' (exclude:1)"


@pytest.mark.parametrize("name", ["missing", "file"])
def test_a_root_that_is_no_directory_is_an_error(root: Path, name: str) -> None:
    write(root, "file")
    with pytest.raises(WorkspaceError, match=f"{name} cannot be read: N"):
        list(scan(root / name))
    with pytest.raises(WorkspaceError, match="name a readable directory"):
        explain(root / name, Path("a.py"))


def test_a_path_says_that_it_is_of_tests() -> None:
    tests = "tests/a.py spec/a.rb a_test.go src/jvmTest/A.kt src/ATest.java Shop.UnitTests/A.cs Examples/a.swift t/a.t"
    others = "src/a.ts src/latest.py src/Contest.java src/attest/a.c src/TypeSpec.java src/Testament.kt"
    assert [path for path in f"{tests} {others}".split() if is_test(path)] == tests.split()


def test_words_name_tests_and_examples() -> None:
    tests = (
        "Where is it tested?; test_retry; RetryTest; testRetry; 如何运行test？; Wo wird es getestet?; "
        "¿Qué pruebas hay?; Какие тесты?; 再試行のテスト; 重试的测试; an example; Where can I look for examples?; specs"
    )
    others = "How is it computed, for example with jitter?; the latest contest; greatestOf; ¿Dónde se comprueba?; "
    others += "Where is depthTest set?; Is it tested before the write?; Comment tester si?; コンテスト; аттестация"
    assert [text for text in f"{tests}; {others}".split("; ") if names_tests(text)] == tests.split("; ")

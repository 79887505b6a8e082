"""Files that are meant by what they are for, or by the words of their names."""

from pathlib import Path

import pytest

from winnow_engine.question import Question
from winnow_engine.selection.definitions import defining

from ..conftest import written

PATHS = """.circleci/config.yml .prettierrc.json .github/workflows/ci.yml .github/workflows/linux-tests.yml .rubocop.yml
    .rubocop_todo.yml CHANGES Makefile docs/dark-mode.md docker-compose.yml docker/Dockerfile docker/dockerfile.dev
    eslint.config.js i18n/user.json misc/bash-completion mkdocs.yml pages/[...all].json queries/dockerfile.scm
    src/changes.py src/order_workflow.py src/parser.py src/themes/dark.css src/workflow.py test/Dockerfile
    tests/disk_full.rb tests/mkdocs.yml"""


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("github actions", ".github/workflows/ci.yml .github/workflows/linux-tests.yml .circleci/config.yml"),
        ("ci workflow", ".github/workflows/ci.yml"),
        ("CI", ".github/workflows/ci.yml"),
        ("linux test workflow", ".github/workflows/linux-tests.yml"),
        ("the linux tests workflow", ".github/workflows/linux-tests.yml"),
        ("workflow engine", ""),
        ("show the workflow", ""),
        ("main workflow", ""),
        ("order workflow", "src/order_workflow.py"),
        ("circleci config", ".circleci/config.yml"),
        ("Docker build?", "docker/Dockerfile docker/dockerfile.dev docker-compose.yml"),
        ("docker dev", "docker/dockerfile.dev"),
        ("docker compose", "docker-compose.yml"),
        ("docker registry", ""),
        ("release notes", "CHANGES"),
        ("makefile targets", "Makefile"),
        ("rubocop config", ".rubocop.yml"),
        ("eslint configuration", "eslint.config.js"),
        ("mkdocs config", "mkdocs.yml"),
        ("bash completion script", "misc/bash-completion"),
        ("dark theme", "src/themes/dark.css"),
        ("prettier config", ".prettierrc.json"),
        ("parser settings", ""),
        ("src changes file", "src/changes.py"),
        ("order workflow script", "src/order_workflow.py"),
        ("order workflow settings", ""),
        ("user settings", ""),
        ("test files", ""),
        ("dark files", ""),
        ("disk full", ""),
        ("disk full rb", ""),
        ("tests disk full", "tests/disk_full.rb"),
        ("settings", ""),
        ("dark mode", ""),
        ("docker-compose yml", "docker-compose.yml"),
        ("Mkdocs yml", "mkdocs.yml"),
        ("mkdocs", ""),
        ("how does the dark theme look on wide screens?", ""),
    ],
)
def test_a_file_is_meant_by_what_it_is_for(tmp_path: Path, text: str, paths: str) -> None:
    code = {"src/parser.py": "def parse():\n    pass\n", "src/workflow.py": "def run():\n    pass\n"}
    code |= dict.fromkeys(["src/changes.py", "src/order_workflow.py"], "def place():\n    pass\n")
    code["docs/dark-mode.md"] = "# Dark mode\n\nIt is dark.\n"
    workspace = written(dict.fromkeys(PATHS.split(), "text: 1\n") | code, tmp_path)
    assert {workspace.units[unit][0].path for unit in defining(Question(text), workspace)} == {*paths.split()}


def test_a_workspace_may_have_several_folders(tmp_path: Path) -> None:
    workspace = written(
        dict.fromkeys(["app/.github/workflows/tests.yml", "app/ci.py", "lib/b.yml"], "a: 1\n"), tmp_path
    )
    units = [workspace.units[unit] for unit in defining(Question("github actions"), workspace)]
    assert [file.path for file, _ in units] == ["app/.github/workflows/tests.yml"]


def test_of_too_many_files_of_a_name_that_at_the_top_is_meant(tmp_path: Path) -> None:
    paths = ["package.json", *(f"p{n}/{name}" for n in range(4) for name in ("package.json", "docker-bake.hcl"))]
    workspace = written(dict.fromkeys(paths, "a = 1\n"), tmp_path)
    assert not defining(Question("docker bake"), workspace)
    assert [workspace.units[n][0].path for n in defining(Question("package json"), workspace)] == ["package.json"]


def test_where_tests_alone_define_code_they_are_meant(tmp_path: Path) -> None:
    code = "def run():\n    raise Full('room is gone')\n"
    workspace = written({"README.md": "# Tests\n", "tests/disk_full.py": code}, tmp_path)
    for text in ("disk full", "error: room is gone"):
        assert [workspace.units[n][0].path for n in defining(Question(text), workspace)] == ["tests/disk_full.py"], text

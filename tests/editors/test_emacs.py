"""The Emacs recipe, lsp_server/editors/emacs/winnow-eglot.el, in a real Emacs with Eglot and the real server."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from .changing import DISCOUNT, knowing

SCRIPT = Path(__file__).parent / "emacs" / "e2e.el"
RECIPE = Path(__file__).parents[2] / "lsp_server" / "editors" / "emacs" / "winnow-eglot.el"
CHANGES = SCRIPT.with_name("changes.el")
LONGEST_S = 1800
CHECKS = re.findall(r'\(e2e-(?:check|unsaved) "([^"]+)"', SCRIPT.read_text(encoding="utf-8"))
CHECKS_OF_CHANGES = re.findall(r'\(changes-check "([^"]+)"', CHANGES.read_text(encoding="utf-8"))

pytestmark = pytest.mark.real_weights


@pytest.fixture(scope="module")
def emacs() -> str:
    """Emacs with Eglot. It need not be on a developer's machine; where CI is set it must be there."""
    program = shutil.which("emacs")
    if program and _has_eglot(program):
        return program
    reason = "Emacs with Eglot 1.9 or later is not installed (Debian: emacs-nox, and before Emacs 29 elpa-eglot)"
    if "CI" in os.environ:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def _has_eglot(program: str) -> bool:
    load = ["--batch", "-q", "--eval", "(when (< emacs-major-version 29) (package-initialize))", "--eval"]
    return subprocess.run([program, *load, "(require 'eglot)"], capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def lines(
    emacs: str,
    workspace: Path,
    server_command: list[str],
    server_environment: dict[str, str],
    settings: dict[str, object],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, str]:
    root = tmp_path_factory.mktemp("asked") / "shop"
    shutil.copytree(workspace, root)  # the script commits there
    return run(emacs, SCRIPT, server_environment, workspace=str(root), command=server_command, settings=settings)


def run(emacs: str, script: Path, environment: dict[str, str], **given: object) -> dict[str, str]:
    """The line that a script printed for each check, by its name; what else it had to say is under ""."""
    result = subprocess.run(
        [emacs, "--batch", "-q", "-l", str(script)],
        env={**environment, "WINNOW_E2E": json.dumps({"recipe": str(RECIPE), **given})},
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    checks = {line.split()[1]: line for line in result.stdout.splitlines() if line.startswith(("ok ", "FAIL "))}
    return {**checks, "": result.stderr[-5000:]}


@pytest.mark.parametrize("check", CHECKS)
def test_in_emacs(check: str, lines: dict[str, str]) -> None:
    assert lines.get(check, f"not reached: {lines['']}") == f"ok {check}"


ANSWERS = {"the discount is wrong": DISCOUNT, "the documentation of": "Counts."}


@pytest.fixture(scope="module")
def changed(
    emacs: str,
    workspace: Path,
    server_command: list[str],
    server_environment: dict[str, str],
    settings: dict[str, object],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, str]:
    root = tmp_path_factory.mktemp("changed") / "shop"
    shutil.copytree(workspace, root, ignore=shutil.ignore_patterns("options.py"))
    (root / "shop" / "undocumented.py").write_text("def count_them(count):\n    return count\n")
    (root / "shop" / "dos.py").write_bytes(b"def count_all(count):\r\n    return count\r\n")
    with knowing(ANSWERS) as target:
        known = {**settings, "target": target.url}
        return run(emacs, CHANGES, server_environment, workspace=str(root), command=server_command, settings=known)


@pytest.mark.parametrize("check", CHECKS_OF_CHANGES)
def test_changes_in_emacs(check: str, changed: dict[str, str]) -> None:
    assert changed.get(check, f"not reached: {changed['']}") == f"ok {check}"

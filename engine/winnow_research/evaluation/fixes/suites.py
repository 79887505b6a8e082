"""Copies of pinned projects, in which their own tests run: in a process with limits on time and memory."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from winnow_engine.errors import EvaluationError
from winnow_research.evaluation.archives import unpacked
from winnow_research.evaluation.repositories import Split, repositories

_LONGEST_S = 40
_MOST_MEMORY = 4 << 30
_MOST_BYTES = 60_000  # of a module and its tests together
_FAILED = re.compile(r"^FAILED \S+::(?P<test>\S+)(?: - (?P<why>.*))?", re.MULTILINE)

_SLOW = {"autoreload", "curl_httpclient", "http1connection", "httpclient", "netutil", "process", "simple_httpclient"}

# folders of modules, and what their files of tests are called
_TESTED: Mapping[str, Mapping[str, str]] = {
    "tornado": {"tornado": "tornado/test/{}_test.py"},  # less those that wait for sockets and processes
    "networkx": {
        "networkx/algorithms": "networkx/algorithms/tests/test_{}.py",
        "networkx/classes": "networkx/classes/tests/test_{}.py",
        "networkx/generators": "networkx/generators/tests/test_{}.py",
    },
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the tests said. `problem` is the first failure as a linter would report it; empty if all passed."""

    passed: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Suite:
    """A project's copy below `root`, and its modules with their tests, by path."""

    name: str
    root: Path
    modules: Mapping[str, str]

    def judge(self, path: str, text: str) -> Verdict:
        """What the tests of a module say of this text. The module is as before afterwards."""
        file = self.root / path
        before = file.read_bytes()
        try:
            file.write_text(text, encoding="utf-8")
            return _run(self.root, self.modules[path])
        finally:
            file.write_bytes(before)


def suites(split: Split, scratch: Path) -> Iterator[Suite]:
    """The projects of a split whose tests can be run, copied into `scratch`. EvaluationError if there is none."""
    found = [one for one in repositories(split) if one.name in _TESTED]
    if not found:
        raise EvaluationError(f"no project of the {split} split has tests that are known to run: choose another split")
    for repository in found:
        root = scratch / repository.name
        shutil.copytree(unpacked(repository.archive), root)
        yield Suite(repository.name, root, dict(_modules(root, _TESTED[repository.name])))


def _modules(root: Path, tested: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for folder, tests in tested.items():
        for file in sorted((root / folder).glob("*.py")):
            path = tests.format(file.stem)
            if (
                file.stem not in _SLOW
                and (root / path).is_file()
                and file.stat().st_size + (root / path).stat().st_size <= _MOST_BYTES
            ):
                yield f"{folder}/{file.name}", path


def _run(root: Path, tests: str) -> Verdict:
    options = ["-q", "-x", "--tb=no", "-rf", "-p", "no:cacheprovider", "-W", "ignore"]
    given = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(root),
        "PYTHONPATH": str(root),
        "COLUMNS": "300",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # three quarters of the time
    }
    command = [sys.executable, "-B", "-m", "pytest", *options, tests]
    # Not with `preexec_fn`: what it forks waits for BLAS, which another thread may be in.
    with subprocess.Popen(command, cwd=root, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        for limit, most in ((resource.RLIMIT_AS, _MOST_MEMORY), (resource.RLIMIT_CPU, _LONGEST_S)):
            resource.prlimit(process.pid, limit, (most, most))
        try:
            said = process.communicate(timeout=_LONGEST_S)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            process.kill()
            return Verdict(False, "its tests do not come to an end")
    if process.returncode == 0:
        return Verdict(True)
    found = _FAILED.search(said)
    return Verdict(False, f"{found['test']} fails: {found['why'] or 'an error'}" if found else "")

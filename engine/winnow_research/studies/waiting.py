"""How long do people wait for the first token of `winnow ask`? Whole commands, from their start to their first output.

Each of ten questions about click is asked with a warm index: through the shared server, which has the models
loaded; without a server; and with another checkout's `winnow`, where `--before` names one. The ways take turns.
`places_s` is when the kept code is known, `first_token_s` when the answer begins. Nothing comes from snapshots. All
share one index, which takes the first of them a minute or two.

With `--changes` each question is asked plainly and about each of these changes, through the shared server; `--clone`
names a folder of a repository that has them, such as click's own.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winnow_research.click_sources import fetch, questions
from winnow_research.machine import median, report
from winnow_research.studies import study_parser

_PREFILL = re.compile(r"kept ([\d,]+) .*prefill ([\d.]+)")
_PACKAGES = ("lsp_server", "engine", "cuda")


@dataclass(frozen=True, slots=True)
class Wait:
    """Seconds from the start of a command, and how many tokens of code it kept."""

    places_s: float
    first_token_s: float
    kept_tokens: int


@dataclass(frozen=True, slots=True)
class Way:
    """A way to ask: a checkout's packages, or the ones at hand, with environment variables of its own."""

    name: str
    cache: Path
    server: bool = False
    changes: str | None = None
    checkout: Path | None = None
    python: str = sys.executable

    def ask(self, question: str, root: Path) -> Wait:
        """Ask as a person would, with the defaults, but for one token of an answer and no snapshots."""
        command = [self.python, "-m", "winnow_lsp", "ask", question, "-w", str(root)]
        command += ["--max-tokens", "1", "--snapshot-megabytes", "0"]
        command += ["--changes", self.changes] if self.changes else []
        started = time.perf_counter()
        with subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            first, first_s = process.stdout.read(1), time.perf_counter() - started
            text = (first + process.stdout.read()).decode()
        found = _PREFILL.search(text)
        assert found is not None, text
        return Wait(first_s - float(found[2]), first_s, int(found[1].replace(",", "")))

    def stop(self) -> None:
        """End the server that it has started."""
        command = [sys.executable, "-m", "winnow_lsp", "serve", "--stop"]
        subprocess.run(command, env=self.environment, check=True, capture_output=True)

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of its commands."""
        own = {"WINNOW_CACHE_DIR": str(self.cache), "XDG_RUNTIME_DIR": str(self.cache)}
        if self.checkout is not None:
            own["PYTHONPATH"] = os.pathsep.join(str(self.checkout / package) for package in _PACKAGES)
        return {**os.environ, **own, "WINNOW_SERVER": str(int(self.server))}


def measure(ways: list[Way], root: Path, count: int) -> dict[str, Any]:
    """The median of each way over so many questions, and those of each question."""
    asked = [written.text for written in questions()[:count]]
    command = [sys.executable, "-m", "winnow_lsp", "index", "-w", str(root)]
    subprocess.run(command, env=ways[0].environment, check=True)
    for way in ways:
        way.ask(asked[-1], root)  # starts the server, and learns how fast the target reads
    waits: dict[str, list[Wait]] = {way.name: [] for way in ways}
    for question in asked:
        for way in ways:
            waits[way.name].append(way.ask(question, root))
            print(f"{way.name:8} {waits[way.name][-1]}", file=sys.stderr)
    return {name: _figures(of) for name, of in waits.items()}


def _figures(waits: list[Wait]) -> dict[str, Any]:
    return {
        "places_s": median([wait.places_s for wait in waits]),
        "first_token_s": median([wait.first_token_s for wait in waits]),
        "each_first_token_s": [round(wait.first_token_s, 2) for wait in waits],
        "kept_tokens": [wait.kept_tokens for wait in waits],
    }


def main() -> None:
    """Measure, print, write JSON."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--before", type=Path, help="another checkout of Winnow, to compare with")
    parser.add_argument("--count", type=int, default=10, help="how many of the questions")
    parser.add_argument("--before-python", default=sys.executable, help="its Python, with its build of llama.cpp")
    parser.add_argument("--clone", type=Path, help="ask about this folder, not about click's source distribution")
    parser.add_argument("--changes", action="append", default=[], help="a commit or a range, to ask about as well")
    options = parser.parse_args()
    root = options.clone or fetch() / "src"
    with tempfile.TemporaryDirectory() as scratch:
        cache = Path(scratch)
        ways = [Way("server", cache, server=True)]
        ways += [Way(change, cache, server=True, changes=change) for change in options.changes] or [Way("alone", cache)]
        if options.before:
            ways.append(Way("before", cache, checkout=options.before.resolve(), python=options.before_python))
        try:
            figures = measure(ways, root, options.count)
        finally:
            ways[0].stop()
    report("waiting", figures)


if __name__ == "__main__":
    main()

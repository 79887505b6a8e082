"""Makes a long history with git fast-import, and measures how long it takes to find the commits that answer when.

    python tests/bench/long_history.py make DIR [--commits 100000]
    python tests/bench/long_history.py measure DIR [--repeats 3]

`measure` starts each time without an index: what comes before the target reads, of a first question, of later ones in
the same process and in a new one, and of later ones once the indexer has read the rest. Times are in seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from winnow_engine.core import Cancellation, Folder
from winnow_engine.history.answering import complete_histories, past_of
from winnow_engine.index.workspace import Sources
from winnow_engine.question import WHEN, Question

_FOLDERS, _FILES, _FUNCTIONS = 100, 20, 12
_SYLLABLES = "ba ce di fo gu ka le mi no pu ra se ti vo wu za".split()  # noqa: SIM905
_VERBS = "Add Fix Remove Rename Speed up Simplify Document Test Handle Avoid".split()  # noqa: SIM905
QUESTIONS = ("When did `{name}` change?", "When was the {word} of {other} added?", "Who fixed {word} lately?")


def make(top: Path, commits: int) -> None:
    """A bare repository whose commits each change functions of some of 2,000 files; every twentieth is a merge."""
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", top], check=True)
    importing = subprocess.Popen(["git", "fast-import", "--quiet"], cwd=top, stdin=subprocess.PIPE)
    assert importing.stdin is not None
    for part in _stream(random.Random(0), commits):
        importing.stdin.write(part)
    importing.stdin.close()
    if importing.wait():
        raise SystemExit("git fast-import failed")


def _stream(chance: random.Random, commits: int) -> Iterator[bytes]:
    vocabulary = [_word(chance) for _ in range(6000)]
    files = [
        [f"{folder}/{name}.py" for name in chance.sample(vocabulary, _FILES)]
        for folder in chance.sample(vocabulary, _FOLDERS)
    ]
    code = {path: _functions(chance, vocabulary) for some in files for path in some}
    for number in range(commits):
        folder = chance.choice(files)
        paths = (
            [path for some in files for path in some] if number == 0 else chance.sample(folder, chance.randint(1, 3))
        )
        merge = number > 3 and number % 20 == 0
        yield _head(chance, vocabulary, number, [Path(path).stem for path in paths[:2]])
        if merge:
            yield f"merge :{number - 2}\n".encode()
            continue
        for path in paths:
            functions = code[path]
            if number:
                functions[chance.choice(list(functions))] = chance.randrange(10**6)
                if chance.random() < 0.2:
                    del functions[chance.choice(list(functions))]
                    functions[f"{chance.choice(vocabulary)}_{chance.choice(vocabulary)}"] = 0
            yield from _file(path, functions)


def _head(chance: random.Random, vocabulary: Sequence[str], number: int, about: Sequence[str]) -> bytes:
    subject = f"{chance.choice(_VERBS)} {' '.join(about)} {' '.join(chance.choices(vocabulary, k=4))}"
    body = "\n".join(" ".join(chance.choices(vocabulary, k=10)) for _ in range(chance.choice((0, 0, 2, 5))))
    message = f"{subject}\n\n{body}\n".encode()
    who = f"{vocabulary[number % 200].capitalize()} <a@example.org> {1_000_000_000 + number * 3600} +0000"
    return f"commit refs/heads/main\nmark :{number + 1}\ncommitter {who}\ndata {len(message)}\n".encode() + message


def _file(path: str, functions: dict[str, int]) -> Iterator[bytes]:
    body = "\n        value += other * 2\n    return value\n\n\n"
    text = "".join(f"def {name}(value, other):\n    if value > {n}:{body}" for name, n in functions.items()).encode()
    yield f"M 100644 inline {path}\ndata {len(text)}\n".encode() + text + b"\n"


def _functions(chance: random.Random, vocabulary: Sequence[str]) -> dict[str, int]:
    return {f"{chance.choice(vocabulary)}_{chance.choice(vocabulary)}": n for n in range(_FUNCTIONS)}


def _word(chance: random.Random) -> str:
    return "".join(chance.choices(_SYLLABLES, k=chance.randint(2, 4)))


def measure(top: Path, repeats: int) -> None:
    """Print a line of JSON for each step of each repeat."""
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as kept:
            for step in ("first", "later, new process", "completing", "later, complete"):
                subprocess.run([sys.executable, __file__, "step", top, "--kept", kept, "--step", step], check=True)


def run_step(top: Path, kept: Path, step: str) -> None:
    """One step in a process of its own: a question, and two more that follow it."""
    sources, names = Sources((Folder(top),)), _names(top)
    if step == "completing":
        _timed(step, lambda: complete_histories(sources, kept, Cancellation()))
        return
    for number, question in enumerate(QUESTIONS):
        text = question.format(name=names[0], word=names[1].split("_")[0], other=names[2].split("_")[0])
        find = partial(past_of, Question(text, changes=WHEN), sources, kept, Cancellation())
        _timed(f"{step}, then another" if number else step, find)
    size = sum(file.stat().st_size for file in kept.iterdir())
    print(json.dumps({"step": step, "megabytes": round(size / 1e6, 1)}), flush=True)


def _names(top: Path) -> list[str]:
    """Some names of functions that the newest commit touched."""
    shown = subprocess.run(
        ["git", "log", "-p", "-U0", "--no-merges", "-9", "main"], cwd=top, capture_output=True, text=True, check=True
    ).stdout
    return [line.split("def ")[1].split("(")[0] for line in shown.splitlines() if "def " in line][:3]


def _timed(step: str, work: Callable[[], object]) -> None:
    began, used = time.perf_counter(), _used()
    work()
    print(
        json.dumps(
            {"step": step, "clock_s": round(time.perf_counter() - began, 3), "processor_s": round(_used() - used, 3)}
        ),
        flush=True,
    )


def _used() -> float:
    """Processor time of this process and of those of git that have ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("make", "measure", "step"))
    parser.add_argument("top", type=Path)
    parser.add_argument("--commits", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--step", default="first")
    given = parser.parse_args()
    if given.what == "make":
        make(given.top, given.commits)
    elif given.what == "measure":
        print(json.dumps({"cores": os.cpu_count(), "load": os.getloadavg()[0]}), flush=True)
        measure(given.top, given.repeats)
    else:
        run_step(given.top, given.kept, given.step)


if __name__ == "__main__":
    main()

"""Makes random histories with the real git, and shows what is kept of one, whatever its commits' numbers are."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from git_repositories import commit, git

from winnow_engine.history.reading import History
from winnow_engine.history.table import FIELDS, TOUCHED

_MESSAGES = ["", "Fix the bus", b"gr\xfc\xdfe\n", "Add waiting\n\nIt takes long.", "@@ -1 +1 @@ def no():\n", "x" * 40]
_FILES = ["bus.py", "sub/walk.c", "caf\u00e9.py", "\udcff.py", "notes.md", "data.bin"]
Step = Callable[[Path, random.Random], Any]


def _content(path: str, chance: random.Random) -> str | bytes:
    names = chance.sample(["wait", "walk", "ride", "stop_now"], 3)
    if path.endswith(".py"):
        return "".join(f"def {name}(n):\n    return n + {chance.randrange(9)}\n\n" for name in names)
    if path.endswith(".c"):
        return "".join(f"int {name}(int n) {{\n  return n;\n}}\n\n" for name in names)
    return bytes(chance.randbytes(20)) if path.endswith(".bin") else f"# {names[0]}\n"


def _edit(top: Path, chance: random.Random) -> None:
    paths = chance.sample(_FILES, chance.randint(1, 3))
    commit(top, chance.choice(_MESSAGES), {path: _content(path, chance) for path in paths})


def _empty(top: Path, chance: random.Random) -> None:
    commit(top, chance.choice(_MESSAGES))


def _rename(top: Path, chance: random.Random) -> None:
    tracked = [path for path in git(top, "ls-files", "-z").split(b"\0") if path]
    if tracked:
        git(top, "mv", "-f", chance.choice(tracked), f"renamed{chance.randrange(5)}.py")
        commit(top, "Rename")


def _branch(top: Path, chance: random.Random) -> None:
    git(top, "checkout", "--quiet", "-B", f"side{chance.randrange(3)}")
    _edit(top, chance)


def _switch(top: Path, chance: random.Random) -> None:
    git(top, "checkout", "--quiet", chance.choice(_branches(top)))


def _merge(top: Path, chance: random.Random) -> None:
    others = [one for one in _branches(top) if one != _current(top)]
    some = chance.sample(others, min(len(others), chance.randint(1, 3)))
    if some:
        parents = [option for one in ("HEAD", *some) for option in ("-p", one)]
        made = git(top, "commit-tree", "HEAD^{tree}", *parents, "-m", f"Merge {len(some)}").decode().strip()
        git(top, "reset", "--quiet", "--hard", made)


def _amend(top: Path, chance: random.Random) -> None:
    git(top, "commit", "--quiet", "--amend", "--allow-empty", "-m", f"Reworded {chance.randrange(99)}")


def _rewind(top: Path, chance: random.Random) -> None:
    git(top, "reset", "--quiet", "--hard", chance.choice(git(top, "rev-list", "HEAD").decode().split()))


def _forget(top: Path, chance: random.Random) -> None:
    git(top, "reflog", "expire", "--expire=now", "--all")
    git(top, "gc", "--quiet", "--prune=now")


_STEPS: list[tuple[Step, int]] = [
    (_edit, 6),
    (_empty, 1),
    (_rename, 2),
    (_branch, 2),
    (_switch, 2),
    (_merge, 2),
    (_amend, 2),
    (_rewind, 1),
    (_forget, 1),
]


def step(top: Path, chance: random.Random) -> None:
    """Do something to a repository with a commit."""
    steps, weights = zip(*_STEPS, strict=True)
    chance.choices(steps, weights)[0](top, chance)


def shown(history: History) -> dict[str, dict[str, Any]]:
    """All that is kept of each commit of the past, by its id."""
    found: dict[str, dict[str, Any]] = {one: {} for one, there in zip(history.ids, history.alive, strict=True) if there}
    for table in history.tables:
        ids = history.ids[table.first :][: len(table)]
        for field in (*FIELDS, *TOUCHED):
            postings, lengths = table.postings(field), table.arrays[f"lengths.{field}"]
            for term in postings.terms.all:
                for place, count in zip(*map(list, postings.of(term)), strict=True):
                    found.get(ids[place], {}).setdefault(field, {})[term] = int(count)
            for name, length in zip(ids, lengths.tolist(), strict=True):
                found.get(name, {}).setdefault("lengths", {})[field] = length
        for name, parents, *rest in zip(ids, table.parents, table.arrays["times"], table.arrays["read"], strict=True):
            found.get(name, {}).update(parents=[history.ids[one] for one in parents], rest=list(map(int, rest)))
    return found


def _branches(top: Path) -> list[str]:
    return git(top, "for-each-ref", "--format=%(refname:short)", "refs/heads").decode().split()


def _current(top: Path) -> str:
    return git(top, "symbolic-ref", "--short", "HEAD").decode().strip()

"""A commit's message → the units that it changed, where they stand in the project's files.

Needs a clone of the project, pinned in `clones.toml`; the other sources need the files alone. So `winnow train commits`
adds these questions to a data set that `winnow train prepare` has made.
"""

from __future__ import annotations

import itertools
import tomllib
from functools import cache
from pathlib import Path

from winnow_engine.core import Cancellation
from winnow_research.evaluation.histories.asked_commits import QUESTION, asked_commits, worth_reading
from winnow_research.evaluation.histories.clones import Pin, at_commit, opened
from winnow_research.evaluation.histories.small_commits import all_commits, small_commits
from winnow_research.training.examples.base import Example, ProjectTree

_PINS = Path(__file__).parents[1] / "clones.toml"
_LOOKED_AT, _MOST = 20_000, 150  # commits, newest first, and questions of a project
TEXTS = (QUESTION, "{text}", "Where is this to be done: {text}", "Which code is this about? {text}")


def examples(tree: ProjectTree, clones: Path, scratch: Path) -> list[Example]:
    """A question for each small commit whose units all stand in the tree; none for a project without a pinned clone.

    Clones lie in `clones`/OWNER/NAME; `scratch` is an empty folder. EvaluationError if the clone lacks.
    """
    pin = pins().get(tree.project)
    if pin is None:
        return []
    clone = opened([pin], clones, Cancellation())[pin]
    repository = at_commit(clone, pin.commit, scratch)
    files = tuple(tree.haystack.own_files)
    worth = worth_reading(repository, all_commits(repository)[:_LOOKED_AT], files)
    found = asked_commits(small_commits(repository, worth), files)
    rng = tree.rng("commits")
    return [
        Example("commit", rng.choice(TEXTS).format(text=one.text), one.golds) for one in itertools.islice(found, _MOST)
    ]


@cache
def pins() -> dict[str, Pin]:
    """The pinned clones, by the name of the project in `projects.toml`."""
    entries = tomllib.loads(_PINS.read_text("utf-8"))
    return {name: Pin(name, one["project"], one["commit"], one["language"]) for name, one in entries.items()}

"""Makes the questions of the task *commit* from clones, and writes them where the task reads them.

A project's newest commits come first. `winnow bench histories` says how to get clones.
"""

from __future__ import annotations

import itertools
import json
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from winnow_engine.core import Cancellation
from winnow_research.evaluation.haystack import Place, indexed
from winnow_research.evaluation.histories.asking_what import QUESTION, asked_commits
from winnow_research.evaluation.histories.clones import Pin, at_commit, opened
from winnow_research.evaluation.histories.small_commits import all_commits, small_commits
from winnow_research.evaluation.repositories import Repository, Split, repositories
from winnow_research.evaluation.tasks.commit import QUESTIONS
from winnow_research.studies import study_parser


def questions(pin: Pin, repository: Repository, clones: Path, most: int) -> dict[str, Any]:
    """The document of one repository's questions."""
    clone = opened([pin], clones, Cancellation())[pin]
    with tempfile.TemporaryDirectory() as folder:
        history = at_commit(clone, pin.commit, Path(folder))
        files = indexed(repository.files())
        found = itertools.islice(asked_commits(small_commits(history, all_commits(history)), files), most)
        asked = [
            {"question": QUESTION.format(text=one.text), "golds": [lines_of(place) for place in one.golds]}
            for one in found
        ]
    return {"repository": pin.name, "version": repository.archive.version, "questions": asked}


def lines_of(place: Place) -> str:
    """Where a gold stands, as files of questions have it."""
    gold = place.gold
    return f"{gold.path.partition('/')[2]}:{gold.start_line}-{gold.end_line}"


def main() -> None:
    """Write evaluation/commits/NAME.json for every pinned history."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("clones", type=Path, help="where clones lie, OWNER/NAME")
    parser.add_argument("--most", type=int, default=30, help="questions about a repository")
    given = parser.parse_args()
    known = {one.name: one for split in Split for one in repositories(split)}
    for name, entry in tomllib.loads((QUESTIONS / "clones.toml").read_text("utf-8")).items():
        pin = Pin(name, entry["project"], entry["commit"], known[name].language)
        document = questions(pin, known[name], given.clones, given.most)
        (QUESTIONS / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")
        print(name, len(document["questions"]), flush=True)


if __name__ == "__main__":
    main()

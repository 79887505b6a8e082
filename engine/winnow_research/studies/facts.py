"""Is the answer kept when people ask about settings, documentation and lists? Repositories are whole, as published.

`facts.json` has the questions by repository (fastify belongs to the development split, the others to the calibration
split), each with the places that answer it: a path, and a pattern that the kept lines of that file must match. One such
place suffices. The first run encodes all three repositories, which takes half an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from winnow_engine.assistant import Assistant
from winnow_engine.config import FileRules
from winnow_engine.core import Budget, Folder
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.workspace import Sources
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_engine.question import Question
from winnow_engine.selection.ranking import Selection
from winnow_engine.store import Store
from winnow_research.evaluation.archives import unpacked
from winnow_research.evaluation.cache import cache_path
from winnow_research.evaluation.repositories import Split, repositories
from winnow_research.machine import report
from winnow_research.studies import study_parser

_BUDGETS = (500, 1000, 2000, 4000)


def asked_of(
    name: str, questions: Sequence[Any], assistant: Assistant, arguments: argparse.Namespace
) -> dict[str, Any]:
    """For each budget the share of questions about a repository whose answer is kept."""
    [repository] = (one for split in Split for one in repositories(split) if one.name == name)
    root = unpacked(repository.archive)
    sources = Sources((Folder(root),), FileRules(max_bytes=arguments.max_file_bytes))
    budgets = {str(tokens): Budget(tokens) for tokens in arguments.budget or _BUDGETS} | {"auto": Budget()}
    found = {}
    for label, budget in budgets.items():
        kept = [assistant.select(sources, Question(question["question"]), budget) for question in questions]
        said = [says(one, root, question["answers"]) for one, question in zip(kept, questions, strict=True)]
        found[label] = {
            "kept_percent": round(100 * sum(said) / len(said), 1),
            "missed": [question["question"] for question, well in zip(questions, said, strict=True) if not well],
            "mean_tokens": round(sum(one.stats.kept_tokens for one in kept) / len(kept)),
        }
    return {"split": repository.split, "questions": len(questions), "budgets": found}


def says(kept: Selection, root: Path, answers: Sequence[Any]) -> bool:
    """Whether one of the answers is among the kept lines."""
    for span in kept.spans:
        lines = (root / span.path).read_text("utf-8", "replace").split("\n")  # a unit's lines end at LF only
        text = "\n".join(lines[span.start_line - 1 : span.end_line])
        if any(answer["path"] == span.path and re.search(answer["says"], text, re.MULTILINE) for answer in answers):
            return True
    return False


def main() -> None:
    """Ask, print and write results/facts.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--budget", type=int, action="append", help="in tokens; may be given several times")
    parser.add_argument("--max-file-bytes", type=int, default=150_000)
    arguments = parser.parse_args()
    questions = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    file = locate(DEFAULT_DRAFTER)
    with closing(Store(cache_path())) as store:
        assistant = Assistant(store, lambda: Drafter(file))
        found = {name: asked_of(name, asked, assistant, arguments) for name, asked in questions.items()}
        assistant.close()
    report("facts", {"drafter": DEFAULT_DRAFTER, "max_file_bytes": arguments.max_file_bytes, "repositories": found})


if __name__ == "__main__":
    main()

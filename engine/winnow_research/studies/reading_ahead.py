"""What does reading ahead save? Questions about the function at the cursor, with and without it, in turn.

The target reads the system message and the code at the cursor before the question comes, as it does in an editor while
somebody types. `ahead_tokens` of a prompt's `prompt_tokens` were read that way, and the first token came after
`first_token_s`, counted from the question.
"""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from winnow_engine.answer import Answer
from winnow_engine.assistant import Assistant
from winnow_engine.config import TargetOptions
from winnow_engine.core import Budget, Cancellation, Folder, Sampling, UnitKind
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.workspace import Sources
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER, DEFAULT_TARGET
from winnow_engine.question import Cursor, Question
from winnow_engine.store import Store
from winnow_engine.targets.local.target import LlamaTarget
from winnow_research.click_sources import fetch
from winnow_research.machine import median, report
from winnow_research.studies import study_parser

_QUESTION = "Explain this function: what it does, how, and what it relies on."
_LEAST_LINES = 12
_EVERY = 23  # functions, from one question to the next


def cursors(assistant: Assistant, sources: Sources, count: int) -> list[Cursor]:
    """Places inside functions of a dozen lines or more, spread over the workspace."""
    workspace = assistant.index(sources)
    functions = [(file, unit) for file, unit in workspace.units if unit.kind in (UnitKind.FUNCTION, UnitKind.METHOD)]
    long = [(file, unit) for file, unit in functions if unit.end_line - unit.start_line >= _LEAST_LINES]
    return [Cursor(file.path, unit.start_line + 2, unit.start_line + 2) for file, unit in long[::_EVERY][:count]]


def measure(assistant: Assistant, sources: Sources, count: int) -> dict[str, Any]:
    """Each question both ways; medians, and the share of the prompt that was read ahead."""

    def ask(cursor: Cursor) -> Answer:
        return assistant.ask(sources, Question(_QUESTION, cursor), Budget(), Sampling(max_tokens=1), lambda _: None)

    places = cursors(assistant, sources, count)
    ask(places.pop())  # learns the throughput
    without, after, tokens = [], [], []
    for cursor in places:
        without.append(ask(cursor))
        ask(places[0] if cursor != places[0] else places[-1])  # another prompt, so that nothing is left of this one
        tokens.append(assistant.read_ahead(sources, cursor, Cancellation()))
        after.append(ask(cursor))
    prompts = [answer.stats.generation.prompt_tokens for answer in after]
    before_s, after_s = ([answer.stats.ttft_s or 0.0 for answer in answers] for answers in (without, after))
    return {
        "prompt_tokens": prompts,
        "ahead_tokens": tokens,
        "share_read_ahead": round(sum(tokens) / sum(prompts), 3),
        "first_token_s": {"without": median(before_s), "with": median(after_s)},
        "ratio": median([new / old for old, new in zip(before_s, after_s, strict=True)]),
    }


def main() -> None:
    """Measure, print, write JSON."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--count", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, closing(Store(Path(scratch) / "index.sqlite")) as store:
        drafter, target = locate(DEFAULT_DRAFTER), locate(DEFAULT_TARGET)
        opened = Assistant(store, lambda: Drafter(drafter), lambda: LlamaTarget.open(target, TargetOptions()))
        with closing(opened) as assistant:
            figures = measure(assistant, Sources((Folder(fetch() / "src"),)), options.count)
    report("reading-ahead", figures)


if __name__ == "__main__":
    main()

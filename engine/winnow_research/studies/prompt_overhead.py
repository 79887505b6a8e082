"""What do prompts cost beyond the code they show? Tokens of each part, for hand-written questions.

The drafter selects for every *real* question of the calibration and development splits, and nothing is answered. `kept`
are the drafter's tokens of the lines kept; all else is counted by the target's tokenizer and chat template.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Folder, Span
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.lines import text_lines
from winnow_engine.index.workspace import Sources
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER, DEFAULT_TARGET
from winnow_engine.prompting.layout import build_messages
from winnow_engine.prompting.messages import Message, PromptReader
from winnow_engine.question import Question
from winnow_engine.selection.ranking import Selection
from winnow_engine.store import Store
from winnow_engine.targets.local.target import LlamaTarget
from winnow_research.evaluation.cache import cache_path
from winnow_research.evaluation.cases import Scene
from winnow_research.evaluation.repositories import Split, repositories
from winnow_research.evaluation.tasks.real import load
from winnow_research.machine import report
from winnow_research.studies import study_parser


def parts(messages: Sequence[Message], spans: Sequence[Span], reader: PromptReader[Any]) -> Counter[str]:
    """The prompt's tokens by part; `numbers` is what the form of the code's lines costs, line numbers above all."""
    system, asked = messages
    code, _, question = asked.content.rpartition("\n\n")
    paths = {span.path for span in spans}
    found = Counter(
        kept=sum(span.tokens for span in spans),
        system=reader.count(system.content),
        question=reader.count(question),
        paths=sum(reader.count(f"{line}\n") for line in text_lines(code) if line in paths),
    )
    total = len(reader.chat_prompt(messages))
    found["template"] = total - reader.count(system.content) - reader.count(asked.content)
    found["numbers"] = total - found.total()
    return found


def measure(selections: Sequence[tuple[Question, Selection]], reader: PromptReader[Any]) -> Any:
    """The mean of each part over all prompts, and prompt tokens per kept token."""
    found: Counter[str] = Counter()
    for question, selection in selections:
        messages = build_messages(selection.workspace, selection.spans, question)
        found.update(parts(messages, selection.spans, reader))
    means = {name: round(tokens / len(selections), 1) for name, tokens in found.items()}
    return {**means, "prompt_per_kept": round(found.total() / found["kept"], 3)}


def selected(assistant: Assistant, names: Sequence[str], budget: Budget) -> Iterator[tuple[Question, Selection]]:
    """Every question about the repositories of these names, or about all of both splits, with what is kept for it."""
    both = chain(repositories(Split.CALIBRATION), repositories(Split.DEVELOPMENT))
    for repository in (one for one in both if one.name in names or not names):
        written = load(repository)
        with tempfile.TemporaryDirectory() as folder:
            Scene(repository.name, repository.files() if written else (), ()).write(Path(folder))
            for question in (Question(one.text) for one in written):
                yield question, assistant.select(Sources((Folder(Path(folder)),)), question, budget)


def main() -> None:
    """Measure, print, write results/prompt_overhead.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("repositories", nargs="*", metavar="REPOSITORY", help="those of both splits if none")
    parser.add_argument("--budget", type=int, help="tokens to keep [auto]")
    parser.add_argument("--drafter", default=DEFAULT_DRAFTER)
    parser.add_argument("--target", default=DEFAULT_TARGET)
    options = parser.parse_args()
    with (
        closing(Store(cache_path())) as store,
        closing(Assistant(store, lambda: Drafter(locate(options.drafter)))) as assistant,
        closing(LlamaTarget.open(locate(options.target))) as target,
    ):
        selections = [
            (question, selection)
            for question, selection in selected(assistant, options.repositories, Budget(options.budget))
            if selection.spans
        ]
        tokens = measure(selections, target)
    report("prompt_overhead", {"budget": options.budget or "auto", "questions": len(selections), "tokens": tokens})


if __name__ == "__main__":
    main()

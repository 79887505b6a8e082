"""What do prompts cost beyond the code they show? Tokens of each part, for hand-written questions.

The drafter selects for every *real* question of the calibration and development splits, and nothing is answered. Two
layouts show the same spans: the product's, and one without a margin that names each file once. `kept` are the drafter's
tokens of the lines kept; all else is counted by the target's tokenizer and chat template.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Question, Span
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.lines import text_lines
from winnow_engine.index.workspace import Folder, IndexedFile, Sources, Workspace
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER, DEFAULT_TARGET
from winnow_engine.prompting.layout import build_messages
from winnow_engine.prompting.messages import Message, PromptReader
from winnow_engine.selection.ranking import Selection
from winnow_engine.store import Store
from winnow_engine.targets.local.target import LlamaTarget
from winnow_research.evaluation.cache import cache_path
from winnow_research.evaluation.cases import Scene
from winnow_research.evaluation.repositories import Split, repositories
from winnow_research.evaluation.tasks.real import load
from winnow_research.machine import report
from winnow_research.studies import study_parser

Layout = Callable[[Workspace, Sequence[Span], Question], list[Message]]

_SHORT_SYSTEM = (
    "Answer from this code, whose numbers are line numbers, briefly and exactly; name functions, cite `path:line`. "
    "If it does not answer, say so."
)
_NUMBER_APART = 10  # lines, at least, from one number to the next in a run
_HEADER = re.compile(r"\S.*:\d+-\d+")


def without_margin(workspace: Workspace, spans: Sequence[Span], question: Question) -> list[Message]:
    """Each file's path once; a number where a run of lines begins, and where a span begins well below the last one."""
    files = {file.path: file for file in workspace.files}
    code = "\n".join(
        "".join(_numbered(files[path], [span for span in spans if span.path == path]))
        for path in dict.fromkeys(span.path for span in spans)
    )
    return [Message("system", _SHORT_SYSTEM), Message("user", f"{code}\n\nQuestion: {question.text}")]


def _numbered(file: IndexedFile, spans: Sequence[Span]) -> Iterator[str]:
    yield f"{file.path}\n"
    last, numbered = 0, -_NUMBER_APART
    for span in spans:
        apart = span.start_line != last + 1 or span.start_line >= numbered + _NUMBER_APART
        first, *rest = text_lines(file.text_of_lines(span.start_line, span.end_line))
        yield f"{span.start_line} {first}\n" if apart else f"{first}\n"
        yield from (f"{line}\n" for line in rest)
        last, numbered = span.end_line, span.start_line if apart else numbered


LAYOUTS: dict[str, Layout] = {"product": build_messages, "without margin": without_margin}


def parts(messages: Sequence[Message], spans: Sequence[Span], reader: PromptReader[Any]) -> Counter[str]:
    """The prompt's tokens by part; `lines` is what the form of the code lines costs, margins and numbers above all."""
    system, asked = messages
    code, _, question = asked.content.rpartition("\n\n")
    paths, lines = {span.path for span in spans}, text_lines(code)
    found = Counter(
        kept=sum(span.tokens for span in spans),
        system=reader.count(system.content),
        question=reader.count(question),
        headers=sum(reader.count(f"{line}\n") for line in lines if line in paths or _HEADER.fullmatch(line)),
        gaps=sum(reader.count(f"{line}\n") for line in lines if line.startswith("⋯ ")),
    )
    total = len(reader.chat_prompt(messages))
    found["template"] = total - reader.count(system.content) - reader.count(asked.content)
    found["lines"] = total - found.total()
    return found


def measure(selections: Sequence[tuple[Question, Selection]], layout: Layout, reader: PromptReader[Any]) -> Any:
    """The mean of each part over all prompts, and prompt tokens per kept token."""
    found: Counter[str] = Counter()
    for question, selection in selections:
        found.update(parts(layout(selection.workspace, selection.spans, question), selection.spans, reader))
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
        layouts = {name: measure(selections, layout, target) for name, layout in LAYOUTS.items()}
    report("prompt_overhead", {"budget": options.budget or "auto", "questions": len(selections), "layouts": layouts})


if __name__ == "__main__":
    main()

"""How much of a prompt has the target read already, over a series of different questions about one repository?

The drafter selects with the default budget; nothing is answered. For each order of the spans: the tokens of all prompts
but the first, and how many of them belong to a common beginning with the prompt before (which the target's memory
holds) or with any prompt before (which snapshots hold).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import pairwise
from typing import Any

from winnow_engine.assistant import Assistant
from winnow_engine.config import FileRules
from winnow_engine.core import Budget, Folder, Prompt, Span
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.workspace import Sources, Workspace
from winnow_engine.llama.kv_cache import common_prefix
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER, DEFAULT_TARGET
from winnow_engine.prompting.layout import build_messages
from winnow_engine.prompting.messages import Message
from winnow_engine.question import Question
from winnow_engine.selection.ranking import Selection
from winnow_engine.store import Store
from winnow_engine.targets.local.target import LlamaTarget
from winnow_research.evaluation.archives import unpacked
from winnow_research.evaluation.cache import cache_path
from winnow_research.evaluation.repositories import Split, repositories
from winnow_research.evaluation.tasks.real import load
from winnow_research.machine import report
from winnow_research.studies import study_parser

Place = tuple[str, int, int]
Order = Callable[[Sequence[Span], list[list[Span]]], list[Span]]


def place(span: Span) -> Place:
    """What makes spans of different questions the same."""
    return span.path, span.start_line, span.end_line


def by_path(spans: Sequence[Span], _before: list[list[Span]]) -> list[Span]:
    """As in the product."""
    return list(spans)


def last_first(spans: Sequence[Span], before: list[list[Span]]) -> list[Span]:
    """Spans of the last prompt first, in its order."""
    ranks = {place(span): rank for rank, span in enumerate(before[-1])} if before else {}
    return sorted(spans, key=lambda span: (ranks.get(place(span), len(ranks)), span.path, span.start_line))


def beginning_then_frequent(spans: Sequence[Span], before: list[list[Span]]) -> list[Span]:
    """As much of the last prompt's beginning as is kept again, then the spans that were kept most often."""
    wanted = {place(span): span for span in spans}
    head: list[Span] = []
    for span in before[-1] if before else []:
        if place(span) not in wanted:
            break
        head.append(wanted.pop(place(span)))
    times = Counter(place(span) for prompt in before for span in prompt)
    return head + sorted(wanted.values(), key=lambda span: (-times[place(span)], span.path, span.start_line))


def by_score(spans: Sequence[Span], _before: list[list[Span]]) -> list[Span]:
    """The best span last, next to the question. Which spans stand first changes with every question."""
    return sorted(spans, key=lambda span: span.score)


ORDERS: dict[str, Order] = {
    "path and line": by_path,
    "last prompt's first": last_first,
    "beginning, then frequent": beginning_then_frequent,
    "score": by_score,
}


def prompt_of(target: LlamaTarget, workspace: Workspace, spans: Sequence[Span], question: Question) -> Prompt:
    """The prompt with the spans in this order, rendered as in the product."""
    return target.chat_prompt(build_messages(workspace, spans, question))


def measure(
    target: LlamaTarget, selections: list[tuple[Question, Selection]], order: Order, render: Any
) -> dict[str, Any]:
    """Tokens of all prompts but the first, and how many of them have been read already."""
    prompts: list[Prompt] = []
    before: list[list[Span]] = []
    for question, selection in selections:
        spans = order(selection.spans, before)
        before.append(spans)
        prompts.append(render(target, selection.workspace, spans, question))
    last = [common_prefix(old, new) for old, new in pairwise(prompts)]
    any_ = [max(common_prefix(old, prompts[i]) for old in prompts[:i]) for i in range(1, len(prompts))]
    return {"tokens": sum(map(len, prompts[1:])), "last": sum(last), "any": sum(any_), "each": last}


def separately(target: LlamaTarget, workspace: Workspace, spans: Sequence[Span], question: Question) -> Prompt:
    """The prompt with every span rendered alone, so that none depends on its neighbours."""
    parts = [build_messages(workspace, [span], question)[-1].content.rsplit("\n\nQuestion:", 1)[0] for span in spans]
    messages = build_messages(workspace, [], question)
    content = "\n".join(parts) + f"\n\nQuestion: {question.text}"
    return target.chat_prompt([messages[0], Message("user", content)])


def overlap(selections: list[tuple[Question, Selection]]) -> dict[str, float]:
    """The most that any order could gain: tokens of spans that the last selection, or any before, had too."""
    total = last = ever = 0
    seen: set[Place] = set()
    for index, (_, selection) in enumerate(selections):
        if index:
            before = {place(span) for span in selections[index - 1][1].spans}
            total += sum(span.tokens for span in selection.spans)
            last += sum(span.tokens for span in selection.spans if place(span) in before)
            ever += sum(span.tokens for span in selection.spans if place(span) in seen)
        seen |= {place(span) for span in selection.spans}
    return {"kept": total, "in_the_last": last, "in_any_before": ever}


def main() -> None:
    """Measure, print, write JSON."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--questions", type=int, default=12)
    parser.add_argument("--repository", default="click")
    parser.add_argument("--include", action="append", default=[], metavar="PATTERN")
    parser.add_argument("--target", default=DEFAULT_TARGET)
    options = parser.parse_args()
    repository = next(one for split in Split for one in repositories(split) if one.name == options.repository)
    written = load(repository)[: options.questions]
    with (
        closing(Store(cache_path())) as store,
        closing(Assistant(store, lambda: Drafter(locate(DEFAULT_DRAFTER)))) as assistant,
        closing(LlamaTarget.open(locate(options.target))) as target,
    ):
        sources = Sources((Folder(unpacked(repository.archive)),), FileRules(include=tuple(options.include)))
        questions = [Question(one.text) for one in written]
        selections = [(question, assistant.select(sources, question, Budget())) for question in questions]
        figures: dict[str, Any] = {"repository": options.repository, "questions": len(questions), **overlap(selections)}
        for name, order in ORDERS.items():
            if order is by_path:
                figures[f"{name}, as rendered"] = measure(target, selections, order, prompt_of)
            figures[name] = measure(target, selections, order, separately)
    report("reuse", figures)


if __name__ == "__main__":
    main()

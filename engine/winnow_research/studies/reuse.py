"""How much of a prompt the target has read already, over a series of different questions about one repository.

    python -m winnow_research.studies.reuse [--questions 12] [--target qwen2.5-coder-1.5b]

The drafter selects with today's budget; nothing is answered. For each order of the spans: tokens of all prompts but
the first, and how many of them are a beginning of the prompt before (what the target's memory holds), or of any before
(with snapshots).
"""

from __future__ import annotations

from winnow_lsp.process import prepare

prepare()

import argparse  # noqa: E402
from collections import Counter  # noqa: E402
from collections.abc import Callable, Sequence  # noqa: E402
from contextlib import closing  # noqa: E402
from itertools import pairwise  # noqa: E402
from typing import Any  # noqa: E402

from winnow_engine.assistant import Assistant  # noqa: E402
from winnow_engine.core import (  # noqa: E402
    Budget,
    Prompt,
    Question,
    Span,
)
from winnow_engine.drafter.drafter import Drafter  # noqa: E402
from winnow_engine.index.files import FileRules  # noqa: E402
from winnow_engine.index.workspace import Folder, Sources, Workspace  # noqa: E402
from winnow_engine.llama.kv_cache import common_prefix  # noqa: E402
from winnow_engine.models.cache import path as model_path  # noqa: E402
from winnow_engine.models.registry import DEFAULT_DRAFTER, DEFAULT_TARGET  # noqa: E402
from winnow_engine.prompting.layout import build_messages  # noqa: E402
from winnow_engine.selection.ranking import Selection  # noqa: E402
from winnow_engine.store import Store, default_path  # noqa: E402
from winnow_engine.targets.local.target import LlamaTarget  # noqa: E402
from winnow_research.evaluation.archives import unpacked  # noqa: E402
from winnow_research.evaluation.repositories import Split, repositories  # noqa: E402
from winnow_research.evaluation.tasks.real import load  # noqa: E402
from winnow_research.machine import report  # noqa: E402

Place = tuple[str, int, int]
Order = Callable[[Sequence[Span], list[list[Span]]], list[Span]]


def place(span: Span) -> Place:
    """What makes a span the same as one of another question."""
    return span.path, span.start_line, span.end_line


def by_path(spans: Sequence[Span], _before: list[list[Span]]) -> list[Span]:
    """As today."""
    return list(spans)


def last_first(spans: Sequence[Span], before: list[list[Span]]) -> list[Span]:
    """Those in the last prompt first, in its order."""
    ranks = {place(span): rank for rank, span in enumerate(before[-1])} if before else {}
    return sorted(spans, key=lambda span: (ranks.get(place(span), len(ranks)), span.path, span.start_line))


def beginning_then_frequent(spans: Sequence[Span], before: list[list[Span]]) -> list[Span]:
    """As much of the last prompt's beginning as is wanted again, then what was wanted most often."""
    wanted = {place(span): span for span in spans}
    head: list[Span] = []
    for span in before[-1] if before else []:
        if place(span) not in wanted:
            break
        head.append(wanted.pop(place(span)))
    times = Counter(place(span) for prompt in before for span in prompt)
    return head + sorted(wanted.values(), key=lambda span: (-times[place(span)], span.path, span.start_line))


def by_score(spans: Sequence[Span], _before: list[list[Span]]) -> list[Span]:
    """The best last, next to the question: what stands first changes least only by chance."""
    return sorted(spans, key=lambda span: span.score)


ORDERS: dict[str, Order] = {
    "path and line": by_path,
    "last prompt's first": last_first,
    "beginning, then frequent": beginning_then_frequent,
    "score": by_score,
}


def prompt_of(target: LlamaTarget, workspace: Workspace, spans: Sequence[Span], question: Question) -> Prompt:
    """The prompt with the spans in this order, each under a header of its own unless the order is the product's."""
    return target.chat_prompt(build_messages(workspace, spans, question))


def measure(
    target: LlamaTarget, selections: list[tuple[Question, Selection]], order: Order, render: Any
) -> dict[str, Any]:
    """Tokens of all prompts but the first, and how many of them are read already."""
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
    """Every span rendered alone, so that none depends on its neighbours."""
    from winnow_engine.prompting.messages import Message

    parts = [build_messages(workspace, [span], question)[-1].content.rsplit("\n\nQuestion:", 1)[0] for span in spans]
    messages = build_messages(workspace, [], question)
    content = "\n".join(parts) + f"\n\nQuestion: {question.text}"
    return target.chat_prompt([messages[0], Message("user", content)])


def overlap(selections: list[tuple[Question, Selection]]) -> dict[str, float]:
    """The most any order could gain: tokens of spans that the last, or any, selection had too."""
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=12)
    parser.add_argument("--repository", default="click")
    parser.add_argument("--include", action="append", default=[], metavar="PATTERN")
    parser.add_argument("--target", default=DEFAULT_TARGET)
    options = parser.parse_args()
    repository = next(one for split in Split for one in repositories(split) if one.name == options.repository)
    written = load(repository)[: options.questions]
    with (
        closing(Store(default_path().with_name("evaluation.sqlite"))) as store,
        closing(Assistant(store, lambda: Drafter(model_path(DEFAULT_DRAFTER)))) as assistant,
        closing(LlamaTarget.open(model_path(options.target))) as target,
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

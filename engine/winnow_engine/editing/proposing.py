"""Proposes a change, start to finish: choose the code around it, ask the target, make an edit of the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Cancellation, Kept, KeptSink, ProgressSink, Sampling, Span, ignore
from winnow_engine.editing.changes import FileEdit, is_sound
from winnow_engine.editing.documenting import documenting
from winnow_engine.editing.fixing import fixing
from winnow_engine.editing.reply import edit_of, is_enough
from winnow_engine.editing.request import EditKind, EditTask, WantedEdit
from winnow_engine.errors import BudgetError, CutOffError, NoCodeError
from winnow_engine.index.workspace import Sources, Workspace
from winnow_engine.prompting.layout import code_of
from winnow_engine.prompting.markdown import FENCE
from winnow_engine.prompting.messages import Message
from winnow_engine.selection.ranking import Selection, SelectionStats
from winnow_engine.targets.base import Generation, Request, Target, fits_anew

_SYSTEM = "You change code: exactly, briefly, in the style of the code around it."
_MORE, _LEAST_ANSWER = 1.5, 200  # tokens of an answer: so many times what it replaces, and so many besides
_TEMPERATURE_AGAIN = 0.7
_TASKS: Mapping[EditKind, Callable[[Workspace, WantedEdit], EditTask]] = {
    EditKind.FIX: fixing,
    EditKind.DOCUMENT: documenting,
}


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change that is not made yet, `sound` without new syntax errors; the target saw `spans` beside the lines."""

    title: str
    edit: FileEdit
    sound: bool | None
    spans: tuple[Span, ...]
    selection: SelectionStats
    notices: tuple[str, ...]


@fits_anew
def propose(
    assistant: Assistant,
    sources: Sources,
    request: WantedEdit,
    budget: Budget,
    sampling: Sampling,
    progress: ProgressSink = ignore,
    cancellation: Cancellation | None = None,
    on_kept: KeptSink = ignore,
) -> Proposal:
    """Have the target write a change, and check it. Nothing is written. EditError where no change comes of it."""
    assert assistant.target is not None, "an assistant without a target changes nothing"
    cancellation = cancellation or Cancellation()
    task = _TASKS[request.kind](assistant.read(sources, cancellation), request)
    selection = assistant.select(sources, task.question, budget, progress, cancellation)
    target = assistant.target.wait_for(cancellation)
    most = min(int(_MORE * target.count(task.expected)) + _LEAST_ANSWER, target.context_limit // 2)
    if request.attempt:
        sampling = replace(sampling, temperature=_TEMPERATURE_AGAIN, seed=request.attempt)
    sampling = replace(sampling, max_tokens=most, stop=())
    spans, prompt = _fitted(selection, task, target, sampling)
    on_kept(Kept.of(spans, target.seconds_to_read(prompt)))
    generation = _generated(target, prompt, sampling, task, progress, cancellation)
    edit = _edit(generation, task)
    notices = (*selection.notices, *generation.notices)
    return Proposal(task.title, edit, is_sound(edit), spans, selection.stats, notices)


def _fitted(selection: Selection, task: EditTask, target: Target, sampling: Sampling) -> tuple[tuple[Span, ...], Any]:
    """The prompt with as many of the kept spans, best first, as the context holds. BudgetError if it holds none."""
    room = target.context_limit - sampling.max_tokens - target.thinking_tokens(sampling)
    spans = [span for span in selection.spans if not any(lines.overlaps(span) for lines in task.shown)]
    best = sorted(spans, key=lambda span: -span.score)
    while True:
        kept = tuple(span for span in spans if span in best)
        prompt = target.chat_prompt(_messages(selection.workspace, kept, task), thinking=sampling.thinking)
        if len(prompt) <= room:
            return kept, prompt
        if not best:
            raise BudgetError(
                f"the code to change does not fit the target's context of {target.context_limit:,} tokens twice: "
                "select less of it, or raise winnow.targetContext"
            )
        best = best[: len(best) // 2]


def _messages(workspace: Workspace, spans: Sequence[Span], task: EditTask) -> list[Message]:
    code = code_of(workspace, spans)
    around = f"Code of the same project, to know and not to change:\n\n{code}\n\n" if code else ""
    return [Message("system", _SYSTEM), Message("user", f"{around}{task.prompt}")]


def _generated(
    target: Target, prompt: Any, sampling: Sampling, task: EditTask, progress: ProgressSink, cancellation: Cancellation
) -> Generation:
    """The answer as far as its first block that changes something: what models say below it takes as long again."""
    stop, heard, line = cancellation.part(), "", ""

    def hear(piece: str) -> None:
        nonlocal heard, line
        heard += piece
        *ended, line = (line + piece).split("\n")
        if any(map(FENCE.fullmatch, ended)) and is_enough(heard, task.read, task.expected):
            stop.cancel()

    generation = target.generate(Request(prompt, sampling, hear, stop, progress))
    cancellation.check()
    return generation


def _edit(generation: Generation, task: EditTask) -> FileEdit:
    whole = generation.finish != "length"
    try:
        return edit_of(generation.text, task.read, task.expected, whole=whole)
    except NoCodeError as error:
        if whole:
            raise
        raise CutOffError(
            "the model's answer was cut off before the code was whole; nothing was changed: select less code"
        ) from error

"""The citations of a whole answer, without a drafter."""

from collections.abc import Sequence

from winnow_engine.core import Citation, Span
from winnow_engine.index.workspace import Workspace
from winnow_engine.prompting.attribution import Attribution
from winnow_engine.prompting.sentences import sentences_of
from winnow_engine.question import Change


def cite(
    answer: str, workspace: Workspace, spans: Sequence[Span], change: Change | None = None
) -> tuple[Citation, ...]:
    attribution = Attribution(workspace, spans, change=change)
    sentences = [attribution.of(answer[start:end], start) for start, end in sentences_of(answer)]
    return attribution.citations(answer, sentences)

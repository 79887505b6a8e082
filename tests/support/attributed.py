"""The sentences and citations of a whole answer, without a drafter."""

from collections.abc import Sequence

from winnow_engine.core import Citation, Span
from winnow_engine.index.workspace import Workspace
from winnow_engine.prompting.attribution import Attribution
from winnow_engine.prompting.sentences import SentenceSplitter
from winnow_engine.question import Change


def sentences_of(text: str) -> list[tuple[int, int]]:
    splitter = SentenceSplitter()
    return [*splitter.feed(text), *splitter.end()]


def cite(
    answer: str, workspace: Workspace, spans: Sequence[Span], change: Change | None = None
) -> tuple[Citation, ...]:
    attribution = Attribution(workspace, spans, change=change)
    sentences = [attribution.of(answer[start:end], start) for start, end in sentences_of(answer)]
    return attribution.citations(answer, sentences)

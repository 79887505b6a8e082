"""Two to eight words out of a function's documentation, or the subject of a fix → the code meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from winnow_engine.question import Question
from winnow_research.evaluation.cases import Scene, without_lines
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.tasks import bug
from winnow_research.evaluation.tasks.base import EvaluationTask
from winnow_research.evaluation.tasks.describe import case, choose, documentation_of

_BORDER = re.compile(
    r"[,;:(.]\s?|\s(?:that|which|if|when|where|so|because|while|unless|using|by|into|from|and|or)\b", re.I
)
_LEAD = re.compile(r"^(?:(?:this|the|an?|functions?|methods?|returns?|gets?|whether|all|its?)\s+)+", re.I)
_MOST, _LONG = 8, 4  # words, and letters of one that says something


def scenes(corpus: Corpus, tokens: int) -> Iterator[Scene]:
    """A scene for each repository, without the documentation, and those of *bug* with short subjects."""
    for haystack in corpus.haystacks(tokens):
        chosen = choose(corpus, haystack, 2 * corpus.questions)
        asked = list(islice(((one, text) for one in chosen if (text := phrase_of(one.sentence))), corpus.questions))
        scene = haystack.scene(case("phrase", text, [one]) for one, text in asked)
        yield without_lines(scene, documentation_of([one for one, _ in asked]))
    for scene in bug.of_commits(corpus, tokens):
        texts = [one.question.text.partition(": ")[2].splitlines()[0].rstrip(".") for one in scene.cases]
        short = [
            replace(one, task="phrase", question=Question(text))
            for one, text in zip(scene.cases, texts, strict=True)
            if 2 <= len(text.split()) <= _MOST
        ]
        yield replace(scene, cases=tuple(short))


def phrase_of(sentence: str) -> str:
    """The first phrase of a sentence, without what leads to it; empty if it says too little."""
    first = next((part for part in _BORDER.split(sentence) if len(part.split()) > 1), "")
    words = _LEAD.sub("", first.strip()).rstrip("?!.").split()[:_MOST]
    telling = [word for word in words if len(word) >= _LONG]
    return " ".join(words) if len(telling) >= 2 else ""


TASK = EvaluationTask("phrase", scenes)

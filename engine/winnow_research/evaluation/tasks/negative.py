"""Questions that nothing in the workspace answers, and as many that something does. Can the scores tell them apart?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from winnow_research.evaluation.cases import Case, Scene, without_lines
from winnow_research.evaluation.comments import described
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.haystack import Haystack, indexed
from winnow_research.evaluation.tasks.base import EvaluationTask
from winnow_research.evaluation.tasks.describe import case, choose, documentation_of


def scenes(corpus: Corpus, tokens: int) -> Iterator[Scene]:
    """A scene for each repository: half its questions are about itself, half about a repository that is not there.

    There is no scene if every repository of the corpus has a file in the workspace.
    """
    for haystack in corpus.haystacks(tokens):
        answered = choose(corpus, haystack, corpus.questions // 2)
        unanswered = list(_unanswered(corpus, haystack, len(answered)))
        if unanswered:
            cases = [case("negative", one.sentence, [one]) for one in answered]
            yield without_lines(haystack.scene(cases + unanswered), documentation_of(answered))


def _unanswered(corpus: Corpus, haystack: Haystack, most: int) -> Iterator[Case]:
    present = {file.path.split("/", 1)[0] for file in haystack.files}
    absent = [one for one in corpus.repositories if one.name not in present]
    rng = corpus.rng(haystack.repository, "negative")
    if absent and most:
        other = rng.choice([one for one in absent if one.language == haystack.repository.language] or absent)
        candidates = list(described(Haystack(other, indexed(corpus.files(other)))))
        rng.shuffle(candidates)
        for one in candidates[:most]:
            asked = case("negative", one.sentence, [one])
            yield replace(asked, repository=haystack.repository.name, golds=())


TASK = EvaluationTask("negative", scenes)

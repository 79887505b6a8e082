"""RepoQA's test (arXiv 2406.06025): the target must give back the function that a description is about.

The description is the first sentence of the function's documentation, which the workspace does not contain.
"""

from __future__ import annotations

from collections.abc import Iterator

from winnow_engine.core import Sampling
from winnow_engine.index.lines import Lines
from winnow_engine.question import Question
from winnow_research.evaluation.answers.items import Item, Sheet, gives_back
from winnow_research.evaluation.cases import Gold, Scene, without_lines
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.haystack import Haystack
from winnow_research.evaluation.tasks.describe import case, choose, documentation_of

_TEXT = "Write out the whole code of the function that does this, word for word, in one block of code: {sentence}"
_SPARE_TOKENS = 96  # that an answer may have beyond the function


def sheets(corpus: Corpus, tokens: int) -> Iterator[Sheet]:
    """A workspace of at most `tokens` tokens for each repository, with at most `corpus.questions` functions to ask."""
    for haystack in corpus.haystacks(tokens):
        yield _sheet(corpus, haystack)


def _sheet(corpus: Corpus, haystack: Haystack) -> Sheet:
    """Questions about functions, and the haystack without their documentation."""
    chosen = choose(corpus, haystack, corpus.questions)
    scene = haystack.scene(case("function", one.sentence, [one]) for one in chosen)
    stripped = without_lines(scene, documentation_of(chosen))
    items = tuple(_item(stripped, one.question.text, one.golds[0], corpus) for one in stripped.cases)
    return Sheet(stripped.name, stripped.files, items)


def _item(scene: Scene, sentence: str, gold: Gold, corpus: Corpus) -> Item:
    data = next(file.data for file in scene.files if file.path == gold.path)
    start, end = Lines(data).span(gold.start_line, gold.end_line)
    function = data[start:end].decode("utf-8", "replace")
    question = Question(_TEXT.format(sentence=sentence if sentence.endswith(".") else f"{sentence}."))
    sampling = Sampling(max_tokens=corpus.count(function) + _SPARE_TOKENS)
    return Item("function", question, gives_back(function), sampling)

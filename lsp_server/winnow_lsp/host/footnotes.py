"""Footnotes of an answer: a number behind each sentence that states something, and the places of each number.

The number is there as soon as the sentence has ended, before anybody knows its places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from winnow_engine.core import Citation, Sentence
from winnow_engine.prompting.markdown import code
from winnow_engine.prompting.sentences import SentenceSplitter, states_something
from winnow_lsp.host.reply import place

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

Mark = Callable[[int], str]


def bracketed(number: int) -> str:
    """`[1]`."""
    return f"[{number}]"


def raised(number: int) -> str:
    """`¹`."""
    return str(number).translate(_RAISED)


class FootnoteStream:
    """Puts numbers into an answer that comes in pieces; `text` is the answer so far, without them."""

    def __init__(self, mark: Mark = bracketed) -> None:
        self._mark, self._splitter, self.text = mark, SentenceSplitter(), ""
        self._starts: list[int] = []  # of the numbered sentences

    def feed(self, piece: str) -> str:
        """The next piece, with the numbers of the sentences that have ended."""
        before, self.text = len(self.text), self.text + piece
        return self._marked(piece, before, self._splitter.feed(piece))

    def end(self) -> str:
        """The number of the last sentence, if the answer stops with it."""
        return self._marked("", len(self.text), self._splitter.end())

    def lines(
        self, sentences: Sequence[Sentence], citations: Iterable[Citation], shown: Callable[[Citation], str] = place
    ) -> tuple[list[str], list[str]]:
        """A line for each number, or for several with the same places, then further citations; notes on the rest."""
        by_start, placed, missing = {one.start: one for one in sentences}, dict[str, str](), ""
        for number, start in enumerate(self._starts, 1):
            mark, sentence = self._mark(number), by_start.get(start)
            if sentence and sentence.places:
                said = ", ".join(map(shown, sentence.places))
                placed[said] = placed.get(said, "") + mark
            elif sentence and not sentence.found:
                missing += mark
        noted = {cited for one in by_start.values() for cited in one.places}
        unknown = dict.fromkeys(self.text[start:end] for one in by_start.values() for start, end in one.unknown)
        cited = [f"{marks} {said}" for said, marks in placed.items()]
        cited += [shown(one) for one in citations if one not in noted]
        notes = [f"{missing} not found in the code shown"] if missing else []
        return cited, [*notes, *(f"{code(name)} is no name in this workspace" for name in unknown)]

    def _marked(self, piece: str, before: int, ended: Iterator[tuple[int, int]]) -> str:
        marked, done = "", 0
        for start, end in ended:
            if states_something(self.text[start:end]):
                self._starts.append(start)
                at = max(end - before, done)
                marked, done = marked + piece[done:at] + self._mark(len(self._starts)), at
        return marked + piece[done:]


def footnoted(
    answer: str, sentences: Sequence[Sentence], citations: Iterable[Citation], shown: Callable[[Citation], str] = place
) -> tuple[str, list[str], list[str]]:
    """A whole answer with its numbers, their lines, and the notes."""
    stream = FootnoteStream()
    return stream.feed(answer) + stream.end(), *stream.lines(sentences, citations, shown)

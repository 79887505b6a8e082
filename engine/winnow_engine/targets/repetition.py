"""Ends an answer that says the same again: small models go round in circles, up to the limit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from winnow_engine.core import TextSink
from winnow_engine.index.words import UNSPACED
from winnow_engine.targets.base import Generation

_END = re.compile(r"\n|[.!?](?=\s)|[。！？]")  # of a sentence or line
_MARKER = re.compile(r"^[ \t>]*(?:[-*•+]\s+|\d+[.)]\s+)?")  # of a list item
_ITEM = re.compile(r"[ \t>]*(?:[-*•+]|\d+[.)])\s")
_BEGUN_MARKER = re.compile(r"[ \t>]*(?:[-*•+]|\d+[.)]?)?")
_LEADS = re.compile(r"#{1,6} |.*[:：][*_]*$")  # a heading or lead-in
# Begins a block of code or ends one, whatever its length, as small models mix them up; also behind a lead-in.
_FENCE = re.compile(r"`{3,}[^`]*$|(?:(?!```).)*(`{3,}[\w+#.-]*$)")
_OPENS = re.compile(r"`{3,} ?[\w+#.-]+")  # within a block begins one in it
_UNSPACED = re.compile(f"[{UNSPACED}]")
_SPACE = re.compile(r"\s+")
_FEWEST_WORDS, _FEWEST_LETTERS = 5, 12  # of a sentence that is not said twice by chance; letters where none is a space
_LONGEST_CYCLE, _COPIES = 8, 4  # lines, and how often they or a run come one after the other
_SHORTEST_RUN, _LONGEST_RUN = 12, 160  # characters of what comes so often within one sentence
_MOST_LEADS = 16  # how often a heading, lead-in or block of code may come
_MOST_PLACES = 8  # how often a list item may come, each time below another line
_SHORTEST_RULE = 100  # of one that may be a rule, the padding of a table or a row of zeros
REPEATED = "the answer ends where it began to repeat itself"
"""The notice of an answer that the guard ended."""


class RepetitionGuard:
    """Passes the text of an answer on until it repeats itself; then `on_repeated` is called, and nothing more passes.

    A sentence or list item is held back as long as it might be one that was said before. Code and short sentences may
    come again, but not the same few lines four times in a row, a heading or lead-in before something new, and an item
    or block below another line.
    """

    def __init__(self, on_text: TextSink, on_repeated: Callable[[], None]) -> None:
        self._on_text, self._on_repeated = on_text, on_repeated
        self._passed: list[str] = []
        self._said = Counter[str]()
        self._lines: list[str] = []  # and sentences, of the block or the text around blocks
        self._sentence, self._shown = "", 0  # the one that is being said, and how much of it was passed on
        self._open: list[str] = []  # the fences of the blocks of code that it is in
        self._block: list[str] = []  # the lines of these so far
        self._lead: list[str] = []  # headings and lead-ins before a sentence or block
        self._above: list[str] = []  # the last two lines that began no item
        self.repeated = False
        self._held = ""  # a heading or lead-in that comes again, until something new follows

    def feed(self, piece: str) -> None:
        """Take in the next piece of the answer."""
        self._sentence += piece
        while not self.repeated and (end := self._sentence_end()):
            self._finish(end)
        if not self.repeated and not self._may_repeat():
            self._pass_on(len(self._sentence))
            if _ends_in_copies(self._sentence):
                self._stop()

    def ended(self, generation: Generation) -> Generation:
        """The answer without what repeats; what was held back is passed on first, if it was not said before."""
        if not self.repeated and self._sentence:
            self._finish(len(self._sentence))
        if not self.repeated:
            self._pass_on(len(self._sentence))
            return generation
        notices = (*generation.notices, REPEATED)
        return replace(generation, text="".join(self._passed).rstrip(), finish="stop", notices=notices)

    def _sentence_end(self) -> int | None:
        """The end of the first sentence; a list's number is none."""
        marker = _MARKER.match(self._sentence)
        found = _END.search(self._sentence, marker.end() if marker and marker[0].strip() else 0)
        return found.end() if found else None

    def _finish(self, length: int) -> None:
        """Judge the sentence that ends there, and pass it on."""
        said = _folded(self._sentence[:length])
        if fence := _FENCE.match(said):
            self._turn(fence[1] or said)
            said = "```"
            self._pass_on(length)  # also of the last block, if that ends the answer
        self._lines.append(said)
        self._block.append(said)
        if not self._open:
            said, self._block = " ".join(self._block), []
        leads = not self._open and _LEADS.match(said) and said not in self._lead and self._said[said] < _MOST_LEADS
        item = not _LEADS.match(said) and _ITEM.match(self._sentence)
        above = self._above if item and _says_something(said) else []
        most = _MOST_LEADS if fence else _MOST_PLACES if above else 1
        told = {"\n".join([said, *above]): 1, " ".join([*self._lead, said]): 1, said: most}
        if self._open or not said:
            told = {}
        if self._in_circles() or (not leads and any(self._said[one] >= often for one, often in told.items())):
            return self._stop()
        if not (leads and said in self._said) and (said or not self._held):
            self._pass_on(length)
        self._held += self._sentence[self._shown : length]
        for one in filter(_says_something, told):
            self._said[one] += 1 if leads or most > 1 else _MOST_LEADS
        if told and (leads or not (fence or item or self._sentence[0].isspace())):
            self._above = [*self._above[-1:], said]
        if leads:
            self._lead += [said] if self._lead or _says_something(said) else []
        elif told:
            self._lead = []
        self._sentence, self._shown = self._sentence[length:], 0

    def _turn(self, fence: str) -> None:
        """Begin a block of code or end one: a fence of the same language ends it."""
        if self._open and (fence == self._open[-1] or not _OPENS.fullmatch(fence)):
            self._open.pop()
        else:
            self._open.append(fence)

    def _may_repeat(self) -> bool:
        said, begun = _folded(self._sentence), _BEGUN_MARKER.fullmatch(self._sentence)
        return not self._open and (begun is not None or any(one.startswith(said) for one in self._said))

    def _in_circles(self) -> bool:
        """True if the last lines came four times in a row."""
        cycles = (self._lines[-length:] for length in range(1, _LONGEST_CYCLE + 1))
        repeated = (one for one in cycles if self._lines[-len(one) * _COPIES :] == one * _COPIES)
        return any(len("".join(one)) >= _FEWEST_LETTERS for one in repeated)

    def _pass_on(self, length: int) -> None:
        if new := self._held + self._sentence[self._shown : length]:
            self._passed.append(new)
            self._on_text(new)
            self._held, self._shown = "", length

    def _stop(self) -> None:
        self.repeated = True
        self._on_repeated()


def _ends_in_copies(sentence: str) -> bool:
    lengths = range(_SHORTEST_RUN, min(_LONGEST_RUN, len(sentence) // _COPIES) + 1)
    repeated = (one for one in lengths if sentence[-(_COPIES - 1) * one :] == sentence[-_COPIES * one : -one])
    return any(one >= _SHORTEST_RULE or len(set(filter(str.isalnum, sentence[-one:]))) > 1 for one in repeated)


def _folded(sentence: str) -> str:
    return _SPACE.sub(" ", _MARKER.sub("", sentence)).strip(" .!?。！？").casefold()


def _says_something(said: str) -> bool:
    return len(said.split()) >= _FEWEST_WORDS or (len(said) >= _FEWEST_LETTERS and _UNSPACED.search(said) is not None)

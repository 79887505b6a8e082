"""Attribution: the code that holds each sentence of an answer, found by the product, whatever the target wrote.

Places that a sentence writes count as they are. So do prose and comments of which it repeats several words in a row,
and prose that has all of its words. Otherwise each shown unit gets log-odds that it holds the sentence: the drafter's
scores, with the sentence as the question, and the names and quotations they share. Removed lines hold a sentence with a
name, or several words in a row, that only they have. docs/lab/prompts.md says how the weights were fitted,
docs/results/answers.md how often they are right.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from winnow_engine.core import Cancellation, Citation, Scores, Sentence, SentenceSink, Span, TextSink, UnitKind
from winnow_engine.errors import CancelledError
from winnow_engine.index.names import identifiers
from winnow_engine.index.words import words
from winnow_engine.index.workspace import Workspace
from winnow_engine.prompting.code_names import CodeName, KnownNames, code_names, of_any_language
from winnow_engine.prompting.places import PlaceReader
from winnow_engine.prompting.quotes import commits_in, quotes_in, removed_runs, runs_of_words, without_covered
from winnow_engine.prompting.sentences import SentenceSplitter, states_something
from winnow_engine.question import Change, Cursor
from winnow_engine.selection.ranking import Ranked

_log = logging.getLogger(__name__)

# Fitted to sentences of documentation in the calibration repositories; `subject`, which these lack, by reading answers.
_BIAS = -9.6
_WEIGHTS = {"maxsim": 0.155, "pooled": 0.228, "defines": 1.72, "uses": 0.85, "subject": 2.0}
FOUND = 0.3
"""Support below which a sentence is not found in the code shown."""
_NEAR_CODE = {"maxsim": 30.0, "pooled": 14.0}  # usual scores of kept code, where the drafter gives none
_MOST_PLACES, _BEHIND_BEST = 3, 1.5  # log-odds
_LONG_WORD, _FEWEST_LONG = 4, 3  # letters, and words of a sentence that prose holds
_PROSE = (UnitKind.SECTION, UnitKind.BLOCK)
_FEWEST_RUNS = 4  # of five words: eight in a row, which code has by no chance
_QUOTED = re.compile(r"[\"“]([^\"“”\n]{3,80})[\"”]|\b(\d{2,})\b")
_CODE = re.compile(r"`([^`\n]+)`")
_SAYS_WHERE = re.compile(r"\bfile that (?:has|contains)\b|\b(?:defined|found|located) in\b|\bsection of\b")
_SAME_SUBJECT = re.compile(
    r"(?i)\W*(?:it|its|they|these|this|that|if|when|then|otherwise|finally|the (?:function|method|class|code|result))\b"
)

SentenceScores = Callable[[str], Mapping[str, Scores | float]]
"""The drafter's scores, by name, of each span shown for a sentence, float32 [S], or one for all."""


def no_scores(_: str) -> Mapping[str, Scores | float]:
    """Usual scores, where the drafter gives none: names decide."""
    return _NEAR_CODE


@dataclass(frozen=True)
class ShownCode:
    """A span that the target saw, with its text."""

    span: Span
    text: str

    @property
    def place(self) -> Citation:
        """Its lines."""
        return Citation(self.span.path, self.span.start_line, self.span.end_line)

    @cached_property
    def names(self) -> set[str]:
        """The identifiers in it."""
        return identifiers(self.text)

    @cached_property
    def runs(self) -> set[tuple[str, ...]]:
        """Every few of its neighbouring words, which sentences repeat."""
        return runs_of_words(self.text)

    @cached_property
    def words(self) -> set[str]:
        """Its words, if it is prose."""
        return set(words(self.text)) if self.span.kind in _PROSE else set()

    def is_repeated(self, runs: set[tuple[str, ...]]) -> bool:
        """True if neighbouring words of a sentence stand in it: more of them if it is code, as those of a comment."""
        return len(runs & self.runs) >= (1 if self.span.kind in _PROSE else _FEWEST_RUNS)

    @cached_property
    def owners(self) -> set[str]:
        """The classes around it, and its file."""
        return {*self.span.name.split(".")[:-1], self.span.path.rpartition("/")[2], self.span.path}

    def is_named(self, name: CodeName) -> bool:
        """True if its name is this one, or ends in it."""
        return self.span.name != "" and f".{self.span.name}".endswith("." + ".".join(name.parts))

    def shows(self, place: Citation) -> bool:
        """True if it has lines of a place."""
        return not place.commit and Cursor(place.path, place.start_line, place.end_line).overlaps(self.span)


def _holds(prose: set[str], stated: set[str]) -> bool:
    """True if prose has all words of a sentence, three of them long ones."""
    return stated <= prose and sum(len(word) >= _LONG_WORD for word in stated) >= _FEWEST_LONG


@dataclass
class Attribution:
    """Finds the code behind sentences of one answer, in order: a sentence may go on about what the last one named.

    Made before the answer, because it reads files: FileChangedError.
    """

    workspace: Workspace
    spans: Sequence[Span]
    question: str = ""
    change: Change | None = None
    scores: SentenceScores = no_scores
    _subject: int | None = field(default=None, init=False)
    _shown: list[ShownCode] = field(init=False)
    _reader: PlaceReader = field(init=False)
    _known: KnownNames = field(init=False)

    def __post_init__(self) -> None:
        asked = "\n".join([self.question, *(one.text for one in (self.change.shown[:1] if self.change else ()))])
        self._reader, self._known = PlaceReader(self.workspace), KnownNames(self.workspace, asked)
        files = ((self.workspace.file(one.path), one) for one in self.spans)
        self._shown = [ShownCode(one, file.text_of_lines(one.start_line, one.end_line)) for file, one in files]

    def of(self, sentence: str, start: int) -> Sentence:
        """A sentence that begins at character `start` of the answer, with the places that hold it."""
        names, end = list(code_names(sentence)), start + len(sentence)
        foreign = (name for name in names if not any(one.is_named(name) for one in self._shown))
        unknown = tuple((start + one.start, start + one.end) for one in self._known.unknown(foreign))
        written = [place.lines for place in self._reader.places(sentence) if place.lines]
        said, stated = runs_of_words(sentence), set(words(sentence)) - set(words(self.question))
        repeated = [one.place for one in self._shown if one.is_repeated(said) or _holds(one.words, stated)]
        written = [*commits_in(sentence, self.change), *written, *repeated][:_MOST_PLACES]
        if written:
            self._subject = next((n for one in written for n, code in enumerate(self._shown) if code.shows(one)), None)
        if written or not states_something(sentence):
            return Sentence(start, end, tuple(dict.fromkeys(written)), None, unknown)
        log_odds = self._log_odds(sentence, names)
        support = 1 / (1 + math.exp(-float(log_odds.max(initial=-np.inf))))
        found = self._best(log_odds) if support >= FOUND else self._quoted(sentence)
        self._subject = found[0] if found else None
        gone = list(self._gone(names, said))
        places = dict.fromkeys([*gone, *(self._shown[number].place for number in found)])
        return Sentence(start, end, tuple(places)[:_MOST_PLACES], None if gone else round(support, 3), unknown)

    def _gone(self, names: Sequence[CodeName], said: set[tuple[str, ...]]) -> Iterator[Citation]:
        """The removed lines with a name, or neighbouring words, of a sentence that no code shown has."""
        own = {name.parts[-1] for name in names if not of_any_language(name.parts[-1])}
        return (place for place, theirs, runs in self._removed if own & theirs or said & runs)

    @cached_property
    def _removed(self) -> list[tuple[Citation, set[str], set[tuple[str, ...]]]]:
        """Removed lines, and the names and neighbouring words in them that no code shown has."""
        names = {name for one in self._shown for name in one.names}
        runs = {run for one in self._shown for run in one.runs}
        removed = removed_runs(self.change)
        return [(place, identifiers(text) - names, runs_of_words(text) - runs) for place, text in removed]

    def _quoted(self, sentence: str) -> list[int]:
        """Numbers of spans with a command of the sentence, or other code of several words, or of the file it says."""
        code, says_where = _CODE.findall(sentence), _SAYS_WHERE.search(sentence)
        found = [n for n, one in enumerate(self._shown) if any(" " in text and text in one.text for text in code)]
        return found or [number for text in code if says_where for number in self._only_place_of(text)]

    def _best(self, log_odds: Scores) -> list[int]:
        """The numbers of the best spans, the best first, as far as they are about as good as that."""
        ordered = np.argsort(-log_odds, kind="stable")[:_MOST_PLACES].tolist()
        return [number for number in ordered if log_odds[number] >= log_odds.max() - _BEHIND_BEST]

    def citations(self, answer: str, sentences: Sequence[Sentence]) -> tuple[Citation, ...]:
        """All places of an answer: those of its sentences, and the lines that its blocks of code quote."""
        places = [place for sentence in sentences for place in sentence.places]
        quotes = quotes_in(answer, [(one.span, one.text) for one in self._shown], self.change)
        return tuple(dict.fromkeys(without_covered([*places, *quotes])))

    def notices(self, cited: Sequence[Citation]) -> tuple[str, ...]:
        """A notice that names the cited files which have changed since they were read, if there are any."""
        files = (self.workspace.file_at(path) for path in dict.fromkeys(one.path for one in cited if not one.commit))
        changed = ", ".join(file.path for file in files if file and file.content.changed())
        return (f"{changed} changed during the answer, and cited lines may be gone: ask again",) if changed else ()

    def _log_odds(self, sentence: str, names: Sequence[CodeName]) -> Scores:
        """The log-odds that each span holds the sentence, float32 [S]."""
        total = np.full(len(self._shown), _BIAS, np.float32)
        for name, values in self.features(sentence, names).items():
            total += np.float32(_WEIGHTS[name]) * np.float32(values)
        return total

    def features(self, sentence: str, names: Sequence[CodeName]) -> dict[str, Scores | float]:
        """Features of each span for a sentence, float32 [S]."""
        subject = np.zeros(len(self._shown), np.float32)
        if self._subject is not None and _SAME_SUBJECT.match(sentence):
            subject[self._subject] = 1
        shared = {"defines": self._defines(names), "uses": self._uses(sentence, names), "subject": subject}
        return {**self.scores(sentence), **shared}

    def _defines(self, names: Sequence[CodeName]) -> Scores:
        """1 where a name can only be the span's, or its file's, less where others have it, too."""
        found = np.zeros(len(self._shown), np.float32)
        mentioned = {part for name in names for part in (name.text, *name.parts)}
        for name in names:
            own = [number for number, one in enumerate(self._shown) if one.is_named(name)]
            own = own or self._only_place_of(name.text)
            narrowed = [number for number in own if self._shown[number].owners & mentioned]
            everywhere = len(self.workspace.symbols.defining(name.parts[-1]))
            if narrowed or name.certain or everywhere == 1:
                share = 1 / len(narrowed) if narrowed else 1 / max(len(own), everywhere, 1)
                found[narrowed or own] = np.maximum(found[narrowed or own], share)
        return found

    def _only_place_of(self, file: str) -> list[int]:
        """The number of the span of a file, if there is just one."""
        found = [number for number, one in enumerate(self._shown) if f"/{one.span.path}".endswith(f"/{file}")]
        return found if len(found) == 1 else []

    def _uses(self, sentence: str, names: Sequence[CodeName]) -> Scores:
        """The share of the sentence's names, quotations and numbers in each span, less a half; 0 if there are none."""
        said = {name.parts[-1] for name in names}
        quoted = {text or number for text, number in _QUOTED.findall(sentence)}
        if not said | quoted:
            return np.zeros(len(self._shown), np.float32)
        counts = [len(said & one.names) + sum(text in one.text for text in quoted) for one in self._shown]
        return np.array(counts, np.float32) / np.float32(len(said | quoted)) - np.float32(0.5)


def drafter_scores(ranked: Ranked, spans: Sequence[Span], cancellation: Cancellation) -> SentenceScores:
    """The drafter's scores of sentences: it reads the sentence alone, for the spans have keys."""
    drafter, profile = ranked.drafter, ranked.drafter.two_levels
    units = np.array([ranked.workspace.unit_at(one.path, one.start_line) for one in spans], np.int64)
    if profile is None or not (ranked.keys.unit_tokens[units] > 0).all():
        return no_scores

    def scores(sentence: str) -> dict[str, Scores]:
        (states,) = drafter.states_of([sentence], None, cancellation)
        return ranked.keys.scored(units, profile, states)

    return scores


class StreamedAttribution:
    """Passes the text of an answer on, and attributes it sentence by sentence on a thread of its own."""

    def __init__(
        self, attribution: Attribution, on_text: TextSink, on_sentence: SentenceSink, cancellation: Cancellation
    ) -> None:
        self._attribution, self._on_text, self._on_sentence = attribution, on_text, on_sentence
        self._cancellation = cancellation.part()
        self._pool, self._splitter = ThreadPoolExecutor(1, "attribution"), SentenceSplitter()
        self._text, self._found, self._waiting = "", list[Sentence](), list[Future[None]]()

    def feed(self, piece: str) -> None:
        """Pass on and take in more of the answer; no sentence is waited for."""
        self._on_text(piece)
        self._waiting.append(self._pool.submit(self._take, piece))

    def end(self) -> tuple[Sentence, ...]:
        """All sentences of the answer, which is complete. CancelledError."""
        self._waiting.append(self._pool.submit(self._attribute, self._splitter.end))
        for one in self._waiting:
            one.result()
        return tuple(self._found)

    def __enter__(self) -> StreamedAttribution:
        return self

    def __exit__(self, *_: object) -> None:
        self._cancellation.cancel()
        self._pool.shutdown(cancel_futures=True)

    def _take(self, piece: str) -> None:
        self._text += piece
        self._attribute(lambda: self._splitter.feed(piece))

    def _attribute(self, ended: Callable[[], Iterator[tuple[int, int]]]) -> None:
        for start, end in ended():
            self._cancellation.check()
            sentence = self._attributed(start, end)
            self._found.append(sentence)
            self._on_sentence(sentence)

    def _attributed(self, start: int, end: int) -> Sentence:
        """The sentence with its places; an error costs these, not the answer."""
        try:
            return self._attribution.of(self._text[start:end], start)
        except CancelledError:
            raise
        except Exception:
            _log.exception("a sentence could not be attributed")
            return Sentence(start, end)


def attribution_of(ranked: Ranked, spans: Sequence[Span], cancellation: Cancellation) -> Attribution:
    """The attribution of an answer to a ranked question that rests on some spans."""
    question = ranked.question
    asked = "\n".join([*(turn.question for turn in question.earlier), question.text])
    scores = drafter_scores(ranked, spans, cancellation)
    return Attribution(ranked.workspace, spans, asked, question.change, scores)

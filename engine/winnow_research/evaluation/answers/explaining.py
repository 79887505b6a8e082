"""Scores of an explanation, without a judge: by its key, what the product says of its sentences, and its own words.

A fact is said if the answer has one of its forms, in any case, from the start of a word or of a part of a name on. Only
forms of up to three letters must be whole words: `imm` is no part of "immediately".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher

from winnow_engine.core import Sentence
from winnow_engine.targets.answer import Answer
from winnow_engine.targets.repetition import REPEATED, RepetitionGuard
from winnow_research.evaluation.answers.items import Scores
from winnow_research.evaluation.cases import Gold
from winnow_research.evaluation.tasks.real import AnswerKey

_SHORTEST_RUN = 3  # words in common with the question; shorter runs are chance
_WORD = re.compile(r"\w+")
_MARKUP = re.compile(r"`|\*\*")
_SHOWN = r"(?:shown|provided|given|above)"
_CODE = r"(?:code|snippets?|files?|context|excerpts?|information)"
_REFUSAL = re.compile(
    rf"(?:\b(?:not|nothing|none|no)|n't)\b[^.\n]{{0,60}}\b(?:{_SHOWN} {_CODE}|{_CODE} {_SHOWN})\b"
    rf"|\b(?:{_SHOWN}|this|the) {_CODE}(?: snippets?)?(?: {_SHOWN})? (?:do|does|is|are)(?: not|n't)\b"
    r"[^.\n]{0,40}\b(?:answer|contain|include|show|specif|mention|provide|describe|address|explain)"
    r"|\A\W*(?:nothing in the workspace|there is no (?:code|information|mention)|i (?:can't|cannot|don't|do not))",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ExplainedQuestion:
    """A question with what its answer is scored by. Without a key nothing in the workspace answers it."""

    text: str
    key: AnswerKey | None
    golds: tuple[Gold, ...]

    def scores(self, answer: Answer) -> Scores:
        """Scores of an answer: shares of facts, golds, sentences and words, and 1.0 for what holds of it."""
        found = {
            **_by_sentences(answer.sentences),
            "repeats": repeated_share(self.text, answer.text),
            "loops": float(loops(answer)),
            "refused": float(refuses(answer)),
        }
        return found if self.key is None else _by_key(self.key, answer.text) | _cited(self.golds, answer) | found


def _by_key(key: AnswerKey, text: str) -> Scores:
    facts = sum(says(text, forms) for forms in key.facts) / len(key.facts)
    return {"facts": facts, "wrong": float(says(text, key.wrong))}


def says(text: str, forms: Iterable[str]) -> bool:
    """True if a text has one of some forms, with or without its markup."""
    shown = (f" {' '.join(one.split())} " for one in (text, _MARKUP.sub("", text)))
    forms = tuple(forms)
    return any(_has(one, form) for one in shown for form in forms)


def _has(text: str, form: str) -> bool:
    found = re.finditer(re.escape(form), text, re.IGNORECASE)
    return any(_begins(text, one.start()) and _ends(text, one.end(), form) for one in found)


def _begins(text: str, at: int) -> bool:
    """False inside a word, a part of a name, or a number."""
    before, here, after = text[at - 1 : at], text[at], text[at + 1 : at + 2]
    if here.isdigit():
        return not (before.isdigit() or before in ("-", "."))
    part = here.isupper() and (before.islower() or after.islower())
    return not here.isalpha() or not before.isalpha() or part


def _ends(text: str, at: int, form: str) -> bool:
    if form[-1].isdigit():
        return not re.match(r"[.,]?\d", text[at:])
    return len(form) > 3 or not form.isalpha() or not text[at : at + 1].isalpha()


def _cited(golds: Iterable[Gold], answer: Answer) -> Scores:
    held = [any(map(gold.overlaps, answer.citations)) for gold in golds]
    return {"golds cited": sum(held) / len(held), "cites": float(bool(answer.citations))}


def _by_sentences(sentences: Iterable[Sentence]) -> Scores:
    """The share of the sentences that state something which has a place; whether none has, or a name exists nowhere."""
    sentences = tuple(sentences)
    placed = [bool(one.places) for one in sentences if one.places or one.support is not None]
    return {
        "placed": sum(placed) / max(len(placed), 1),
        "marked": float(bool(placed) and not any(placed)),
        "invented": float(any(one.unknown for one in sentences)),
    }


def repeated_share(question: str, text: str) -> float:
    """The share of the question's words that stand in the text in runs of three and more, the longest first."""
    asked, said = (_WORD.findall(one.lower()) for one in (question, text))
    runs = SequenceMatcher(None, asked, said, autojunk=False).get_matching_blocks()
    return sum(run.size for run in runs if run.size >= _SHORTEST_RUN) / len(asked)


def loops(answer: Answer) -> bool:
    """True if an answer says a sentence twice, was ended because it did, or ran to the limit."""
    guard = RepetitionGuard(lambda _: None, lambda: None)
    guard.feed(f"{answer.text}\n")
    return guard.repeated or REPEATED in answer.notices or answer.finish == "length"


def refuses(answer: Answer) -> bool:
    """True if an answer says that the code shown does not answer, or had no code to rest on."""
    return not answer.spans or _REFUSAL.search(answer.text) is not None

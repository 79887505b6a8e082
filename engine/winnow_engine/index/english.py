"""Words of questions that code may have; English for German, Spanish, French, Russian, Chinese and Japanese ones."""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache
from pathlib import Path

from winnow_engine.index.words import without_accents

_MOST = 4000  # characters that are looked at
_VOICED = ("\u3099", "\u309a")  # marks of the kana before them
_SHORT = 3  # letters of a form that is a whole word
_GREEK, _CJK = "\u0370", "\u2e80"  # where alphabets but the Latin one, and scripts without spaces, begin
_ENGLISH = re.compile(r"\b(?:and|are|does|do|for|how|in|is|of|that|the|to|what|when|where|which|why)\b")
_SMALL = re.compile(
    r"(?i)\b(?<![\w`.$(-])(?:all|an?|and|are|as|at|be|been|by|can|could|did|do|does|for|from|had|has|have|how|i|if|in|into|is|its?"
    r"|me|my|of|on|or|our|should|so|that|the|their|them|then|there|these|this|those|to|was|we|were|what|when|where|which|who|why"
    r"|will|with|would|your?)(?![\w`.(-])"
)
_FEWEST = 4  # words of a question that is more than a name or two: "where clause" has no small words
_SURE = r"aus|cuando|dans|des|donde|ein\w*|nach|nicht|quand|quel\w*|wann|warum|welche\w*|wenn|werden|wie|wird"
_FOREIGN = re.compile(
    rf"\b(?:{_SURE}|al|au|auf|avec|bei|ce|cet(?:te)?|comment|como|con|cual\w*|das|de|dem|den|der|die|diese\w?|el|en|est"
    r"|est[ae]|fur|hace|hat|im|ist|kann|las?|les?|los|macht|mit|ou|par|para|por|pour|que|qui|se|sert|sich|sin|son|sont|su"
    r"|sur|und|une?|vom|von|wer|wo|zu|zum|zur)\b"
)
_SURELY = re.compile(rf"\b(?:{_SURE}|beim?)\b(?![.(_])")  # no English, and no part of code


@lru_cache(maxsize=16)  # as `english_words`
def without_small_words(text: str) -> str:
    """A question without words such as "how" and "does": as code rarely has them, they would count for much."""
    rest = _SMALL.sub(" ", text) if len(text.split()) >= _FEWEST else text
    return rest if rest.strip(" ?") else text


@lru_cache(maxsize=16)  # a question is looked for among units, names and paths
def english_words(text: str) -> tuple[str, ...]:
    """The words of English code that a text may mean, each once, in order; none for English.

    Beside another script, Latin letters are taken for names of code.
    """
    folded, (table, longest) = without_accents(text[:_MOST]).casefold(), _table()
    latin = not any(one >= _GREEK and one.isalpha() for one in folded)
    if latin and not _is_foreign(text, folded):
        return ()
    found: set[str] = set()
    at = 0
    while at < len(folded):
        sizes = range(min(longest, len(folded) - at), 0, -1)
        size = next((size for size in sizes if folded[at : at + size] in table and _fits(folded, at, size, latin)), 0)
        found.update(table.get(folded[at : at + size], ()))
        at += size or 1
    return tuple(sorted(found))


def _is_foreign(text: str, folded: str) -> bool:
    """Whether a text in Latin letters is not English, by its small words, or else its accents.

    Without accents one small word may be code, such as `el`, but for those that surely are not.
    """
    foreign, english = len(_FOREIGN.findall(folded)), len(_ENGLISH.findall(folded))
    if any(one.isalpha() and not one.isascii() for one in text[:_MOST]):
        return foreign > english or not english
    return foreign > max(english, 1) or bool(not english and _SURELY.search(folded))


def _fits(folded: str, at: int, size: int, latin: bool) -> bool:
    """Whether a form stands where it means something: CJK anywhere, others where a word begins, short ones alone."""
    if folded[at] >= _CJK:
        return folded[at + size : at + size + 1] not in _VOICED
    if latin != (folded[at] < _GREEK) or folded[at - 1 : at].isalpha():
        return False
    return size > _SHORT or not folded[at + size : at + size + 1].isalpha()


@cache
def _table() -> tuple[dict[str, list[str]], int]:
    """The English words by form, and the length of the longest form."""
    found: dict[str, list[str]] = {}
    for english, forms in tomllib.loads(Path(__file__).with_name("english.toml").read_text("utf-8")).items():
        for form in forms.split():
            found.setdefault(without_accents(form).replace("_", " "), []).append(english)
    return found, max(map(len, found))

"""Sub-questions: what a question asks for in several steps, such as "How is X read, and where is it written?"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from winnow_engine.question import without_pleasantries
from winnow_engine.selection.overview_words import says_nothing

ABOUT_ONE_THING = 2
"""The number of sub-questions that are mostly about one thing ("How is X read, and where is it checked?")."""

_MOST = 8  # a text that falls into more is no list of questions but a pasted log
_FEWEST_WORDS = 3
_AND_ASKING = (
    r"and\s+(?=(?:how|what|where|which|who|why|when)\b)|und\s+(?=(?:wie|was|wo|wer|wann|warum|welche\w?)\b)"
    r"|y\s+(?=(?:cómo|qué|dónde|quién|cuándo|por qué|cuál)\b)"
    r"|et\s+(?=(?:comment|où|quand|pourquoi|que|quel\w*)\b)|и\s+(?=(?:как|где|кто|когда|почему|зачем|какой|какие)\b)"
)
_BORDER = (
    rf"(?:^|\n)\s*(?:[-*•]|\d+[.)])\s+|(?<=[.?!;])\s+|(?<=[。？！；])\s*|(?:(?<=\s)|^)\(\d+\)\s*|\n+|,?\s+(?:{_AND_ASKING})"
    r"|,\s+(?=(?:how|what|why)\b|(?:where|when)\s+(?:is|are|was|were|do|does|did|can|will)\b)"
)
# Code, stack traces and quotations, and abbreviations: "etc." may end a sentence, "e.g." does not.
_WHOLE = (
    r"\n+(?:\t|[^\S\n]{2})[^\S\n]*(?![-*•\s]|\d+[.)])[^\n]*|```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]*\"|“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»|「[^「」]*」"
    r"|\b(?:vs|cf|approx|incl|excl|resp|bzw|p\.\s?e[jx]|напр|(?!т\.\s?[дп])(?:[^\W\d_]\.\s?){1,3}[^\W\d_])\.\s+"
    r"|\b(?:nos?|nr|ver|vol|fig|sec|eq|art|núm|рис|стр|pp?|[Sv])\.\s+(?=\d)|\b(?-i:Dra?|Mrs?|Ms|Prof|St|Sra?|Mme)\.\s+(?-i:(?=[A-ZÄ-ÜА-Я]))"
    r"|\b(?:etc|usw|ff|al|т\.\s?[дп])\.\s+(?=(?-i:[^\WA-ZÄ-ÜА-Я]))"
)
_BORDERS = re.compile(f"{_WHOLE}|(?P<border>{_BORDER})", re.DOTALL | re.IGNORECASE)
_LETTERS = re.compile("[\u3041-\u9fff]{2}|[^\\s\u3041-\u9fff]+")
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_NAMES_CODE = re.compile(r"`[^`\n]+`|\w\(\)|\w_[^\W_]")


def subquestions_of(question: str) -> tuple[str, ...]:
    """Two to eight sub-questions of at least three words, in order. Empty if the text has fewer than two, or more.

    Shorter parts that name no code, and those that say nothing, belong to the one before, or the first to the next.
    """
    text, found = without_pleasantries(question), list[tuple[int, int]]()
    parts = list(_parts(text))
    for start, end in parts if len(parts) <= _MOST * _MOST else ():
        part, before = text[start:end], text[slice(*found[-1])] if found else ""
        adds = (_NAMES_CODE.search(part) or not _is_short(part)) and says_nothing(part) == says_nothing(before)
        if found and (not adds or _is_short(before)):
            found[-1] = found[-1][0], end
        else:
            found.append((start, end))
    return tuple(text[start:end].strip(" ;,") for start, end in found) if 1 < len(found) <= _MOST else ()


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of the text's parts. Borders do not lie in code, quotations or abbreviations."""
    numbered = "(1)" in text and "(2)" in text
    found = (match for match in _BORDERS.finditer(text) if match["border"] is not None)
    borders = (match.span() for match in found if numbered or not match[0].strip().startswith("("))
    cuts = [0, *(place for border in borders for place in border), len(text)]
    for start, end in zip(cuts[::2], cuts[1::2], strict=True):
        part = text[start:end].strip(" ;,")
        if part and not part.endswith(":"):
            yield start, end


def _is_short(part: str) -> bool:
    return len(_LETTERS.findall(_FENCED.sub("", part))) < _FEWEST_WORDS

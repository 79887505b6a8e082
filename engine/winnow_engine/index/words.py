"""Words of code and prose in any script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from typing import Literal

_ASCII = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])|\d+")
_ACCENTS = re.compile("[\u0300-\u036f]")
# Ends before white space if it can, as nothing combines with that; else not before an accent, a vowel or a final of
# Hangul, or a mark of kana.
_PIECE = re.compile("(?s:.{1,256}(?!\\S)|.{1,256}(?![\u0300-\u036f\u1161-\u11ff\u3099\u309a])|.{1,256})")
_ALPHABETS = [chr(code) for code in range(0x80, 0x2000)]  # in which there are capitals and marks

# Scripts that write words without spaces, and Hangul, whose words carry particles.
_HIRAGANA, _KATAKANA = "\u3041-\u309f", "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
_UNSPACED = "\u0e01-\u0eff\u1000-\u109f\u1780-\u17d3\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
_UNSPACED += "\uf900-\ufaff\U00020000-\U0003ffff"
UNSPACED = f"{_HIRAGANA}{_KATAKANA}{_UNSPACED}"  # for a class of letters in a pattern


def words(text: str) -> list[str]:
    """`parseHTTPHeader_v2` → parse, http, header, 2. Single lower-case letters are left out, accents too.

    Of scripts that do not separate words, every two neighbouring letters are one: 检查折扣 → 检查, 查折, 折扣.
    """
    return [word.casefold() for word in spelled_words(text)]


def spelled_words(text: str) -> list[str]:
    """As `words`, with the case of letters."""
    return _ASCII.findall(text) if text.isascii() else list(_spelled(normalized("NFKC", text)))


def without_accents(text: str) -> str:
    """A text in compatibility form, decomposed (NFKD), without accents."""
    return _ACCENTS.sub("", normalized("NFKD", text))


def normalized(form: Literal["NFC", "NFKC", "NFKD"], text: str) -> str:
    """A text in a form of Unicode. Piece by piece, as a run of marks takes the square of its length to be sorted."""
    return "".join(unicodedata.normalize(form, piece) for piece in _PIECE.findall(text))


def _spelled(text: str) -> Iterator[str]:
    for match in _pattern().finditer(text):
        word, run = match[0], match[1]
        if run is None:
            yield word if word.isascii() else without_accents(word)
        else:
            yield from [run[at : at + 2] for at in range(len(run) - 1)] or [run]


@cache  # and made when it is needed, because that takes 30 ms
def _pattern() -> re.Pattern[str]:
    upper, lower = f"A-Z{_all(str.isupper)}", f"a-z{_all(str.islower)}"
    marks = _all(lambda one: unicodedata.category(one).startswith("M"))
    return re.compile(
        rf"([{_HIRAGANA}]+|[{_KATAKANA}]+|[{_UNSPACED}]+)|[{upper}{lower}][{lower}{marks}]+|[{upper}]+(?![{lower}])|\d+"
        rf"|(?:[^\W\d_{upper}{lower}{_HIRAGANA}{_KATAKANA}{_UNSPACED}][{marks}]*)+"
    )


def _all(test: Callable[[str], bool]) -> str:
    return "".join(filter(test, _ALPHABETS))

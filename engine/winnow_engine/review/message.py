"""A commit message for what is staged, in the manner of the repository's own."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from winnow_engine.git.objects import commits
from winnow_engine.git.repository import Repository
from winnow_engine.prompting.markdown import fenced, unwrapped

_RECENT = 40  # commits that show the manner
_LONGEST = 72  # characters of a subject, unless the repository's own are longer
_CONVENTIONAL = re.compile(r"(?P<type>[a-z]+)(\([^)]*\))?!?: ")
_PREAMBLE = re.compile(r"\A[^\n]*:[*\s]*\n\s*")  # "Here is a commit message:"
_PLACE = r"(?!\w+://)[\w./-]*[A-Za-z_][\w-]*[./][A-Za-z][\w./-]*:\d++(-\d++\b)?+"  # ++: repeats in one way only
_CITATION = re.compile(rf"\s*[(\[]?`?(?<![\w./-])(?:{_PLACE})+\b(?![.:]\d)`?[)\]]?")
_LABEL = re.compile(r"^\**(subject|commit message|message|title)[\s*]*:\**\s*", re.IGNORECASE)
_MOST_BODY = 1_200


@dataclass(frozen=True, slots=True)
class Manner:
    """The form of a repository's subjects: what most recent ones have in common, and the types that precede them."""

    conventional: bool = False
    types: tuple[str, ...] = ()
    capital: bool = True
    full_stop: bool = False
    longest: int = _LONGEST
    bodies: bool = True


def manner_of(repository: Repository) -> Manner:
    """The manner of the latest commits that are no merges; the usual one before the first."""
    if repository.head() is None:
        return Manner()
    ids = repository.git.run("rev-list", "--no-merges", f"--max-count={_RECENT}", "HEAD", "--").decode().split()
    found = [commit for commit in commits(repository.git, ids) if commit.subject]
    if not found:
        return Manner()
    subjects = [commit.subject for commit in found]
    plain = [_CONVENTIONAL.sub("", subject, count=1) for subject in subjects]
    return Manner(
        conventional=_most(bool(_CONVENTIONAL.match(subject)) for subject in subjects),
        types=tuple(sorted({match["type"] for subject in subjects if (match := _CONVENTIONAL.match(subject))})),
        capital=_most(text[:1].isupper() for text in plain),
        full_stop=_most(subject.endswith(".") for subject in subjects),
        longest=max(_LONGEST, round(statistics.median(map(len, subjects)))),
        bodies=_most(len(commit.message.strip().splitlines()) > 2 for commit in found),
    )


def message_question(manner: Manner) -> str:
    """The instruction to write the message. Subjects are described: small models answer with one that is quoted."""
    kinds = f" It begins with a type and a colon: one of {', '.join(manner.types)}." if manner.conventional else ""
    body = "an empty line, and one to three lines that say why" if manner.bodies else "nothing else"
    return (
        f"Write the commit message for this change: a subject of at most {manner.longest} characters that says in the "
        f"imperative what the change does to which code, then {body}.{kinds} Reply with the message only."
    )


def message_of(answer: str, manner: Manner) -> str:
    """The message in a model's answer, with the subject in the repository's form; "" if there is none."""
    text = next((text for opening, text, _ in fenced(answer.strip()) if opening), _PREAMBLE.sub("", answer.strip()))
    first, *rest = map(str.rstrip, unwrapped(text).splitlines() or [""])
    subject = _subject(first, manner) if first else ""
    body = "\n".join(_CITATION.sub("", line) for line in rest).strip()[:_MOST_BODY]
    return f"{subject}\n\n{body}" if body and manner.bodies and subject else subject


def _subject(line: str, manner: Manner) -> str:
    text = unwrapped(_CITATION.sub("", _LABEL.sub("", unwrapped(line))).rstrip("."))
    prefix = _CONVENTIONAL.match(text[:1].lower() + text[1:])
    head, rest = (prefix[0], text[prefix.end() :]) if prefix else ("", text)
    if not manner.conventional:
        head = ""
    rest = _with_first_letter(rest, capital=manner.capital).rstrip(".")
    return _cut(head + rest, manner.longest) + ("." if manner.full_stop else "")


def _with_first_letter(text: str, *, capital: bool) -> str:
    """The text with its first letter as asked, unless its first word has capitals of its own, as names have."""
    word = text.partition(" ")[0]
    if word[1:] != word[1:].lower() or "_" in word:
        return text
    return (text[:1].upper() if capital else text[:1].lower()) + text[1:]


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest + 1].rsplit(" ", 1)[0][:longest].rstrip(",;: ")


def _most(of: Iterable[bool]) -> bool:
    values = list(of)
    return sum(values) * 2 > len(values)

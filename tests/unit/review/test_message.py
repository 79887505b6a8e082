"""Commit messages in the repository's manner."""

from pathlib import Path

import git_repositories as git
import pytest

from winnow_engine.git.repository import open_repository
from winnow_engine.review.message import Manner, manner_of, message_of, message_question


def manner(top: Path, *messages: str) -> Manner:
    git.new(top)
    for message in messages:
        git.commit(top, message)
    return manner_of(open_repository(top))


def test_conventional_commits_in_lower_case(tmp_path: Path) -> None:
    found = manner(tmp_path, "feat: add a basket", "fix(shop): count twice", "chore!: move on")
    assert (found.conventional, found.capital, found.full_stop, found.bodies) == (True, False, False, False)
    assert (
        message_of("```\nfix(basket): Return the maximum.\n\nBecause.\n```", found) == "fix(basket): return the maximum"
    )


def test_sentences_with_bodies(tmp_path: Path) -> None:
    body = "\n\nIt was wrong.\nNow it is right.\n"
    found = manner(tmp_path, f"Add a basket.{body}", f"Count twice.{body}", "")
    assert (found.conventional, found.capital, found.full_stop, found.bodies) == (False, True, True, True)
    made = message_of("Subject: fix: return the maximum\n\nThe sum (shop/basket.py:2) was wrong.", found)
    assert made == "Return the maximum.\n\nThe sum was wrong."


def test_the_question_says_the_form_and_quotes_nothing_to_copy(tmp_path: Path) -> None:
    asked = message_question(manner(tmp_path, "feat: add a basket", "fix: count twice", "fix(shop): mend"))
    assert "one of feat, fix." in asked
    assert "at most 72" in asked
    assert "count twice" not in asked
    assert "one of" not in message_question(Manner())


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("", ""),
        ("```\n```", ""),
        ("parseHTML keeps its name", "parseHTML keeps its name"),
        ("read_all takes bytes", "read_all takes bytes"),
        ("**Fix it**", "Fix it"),
        ("Remove the unused helper `path`", "Remove the unused helper `path`"),
        ("`timer`: drop `start`", "`timer`: drop `start`"),
        ('# Rename "a" to "b"', 'Rename "a" to "b"'),
        ('- "fix it"', "Fix it"),
        ("***Fix it***", "Fix it"),
        ("**Fix it**.", "Fix it"),
        ("'Don't crash'", "Don't crash"),
        ('"Fix the "name" field"', 'Fix the "name" field'),
        ('"a" becomes "b"', '"a" becomes "b"'),
        ('"' + "it's " * 40, '"' + " ".join(["it's"] * 14)),
        ('"Fix it\n\nIt failed."', "Fix it\n\nIt failed."),
        ("**Subject:** *`fix it`*", "Fix it"),
        ("word " * 30, " ".join(["Word", *["word"] * 13])),
        ("x" * 100, "X" + "x" * 71),
        ("_" * 4_000, "_" * 72),
        ("Fix src/a.py:3-src/b.py:5 now", "Fix now"),
        ("a.py:1/b.py:2", ""),
        ("a.a:11" * 500 + "_", "a.a:11" * 12),
        ("Here is a message for this:\n\n```text\nfix it\n\nBecause.\n```\nIt says why.", "Fix it\n\nBecause."),
        ("Here it is.\n```\nfix it\n\nBecause.", "Fix it\n\nBecause."),
        ("**Commit message:**\n\nfix it\n\nBecause.", "Fix it\n\nBecause."),
    ],
)
def test_the_subject_has_the_usual_form(answer: str, expected: str) -> None:
    assert message_of(answer, Manner()) == expected

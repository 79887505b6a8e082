"""Documentation is inserted where each language wants it, and no other line changes."""

from __future__ import annotations

import difflib

import pytest

from winnow_engine.editing.changes import is_sound
from winnow_engine.editing.documenting import documenting
from winnow_engine.editing.request import EditKind, WantedEdit
from winnow_engine.errors import NotApplicableError
from winnow_engine.index.languages.table import LANGUAGES
from winnow_engine.question import Cursor

WORDS = "Adds two numbers.\n\nRaises nothing."
SLASHES = "/// Adds two numbers.\n///\n/// Raises nothing.\n"
STARRED = "/**\n * Adds two numbers.\n *\n * Raises nothing.\n */\n"
HASHES = SLASHES.replace("///", "#")
IN_C = "int add(int a, int b) {\n    return a + b;\n}\n"
DOCSTRING = '"""Adds two numbers.\n\n    Raises nothing.\n    """\n'

# a sample, the line of the cursor in it, and what it has once it is documented
SAMPLES: dict[str, tuple[str, int, str]] = {
    "python": ("def add(a, b):\n    return a + b\n", 2, f"def add(a, b):\n    {DOCSTRING}    return"),
    "go": ("package a\n\nfunc Add(a, b int) int {\n\treturn a + b\n}\n", 4, SLASHES.replace("///", "//") + "func"),
    "rust": ("#[inline]\npub fn add(a: i32) -> i32 {\n    a + 1\n}\n", 2, f"{SLASHES}#[inline]"),
    "java": ("class A {\n    @Override\n    int add(int a) {\n        return a;\n    }\n}\n", 4, "/**\n     * Adds"),
    "javascript": ("export function add(a, b) {\n  return a + b;\n}\n", 2, f"{STARRED}export"),
    "typescript": ("export function add(a: number) {\n  return a;\n}\n", 2, f"{STARRED}export"),
    "tsx": ("export function Add() {\n  return <b />;\n}\n", 2, f"{STARRED}export"),
    "kotlin": ("fun add(a: Int, b: Int): Int {\n    return a + b\n}\n", 2, f"{STARRED}fun"),
    "scala": ("object A {\n  def add(a: Int): Int = {\n    a + 1\n  }\n}\n", 3, "  /**\n   * Adds"),
    "php": ("<?php\nfunction add($a, $b) {\n    return $a + $b;\n}\n", 3, f"{STARRED}function"),
    "c": (IN_C, 2, f"{STARRED}int"),
    "cpp": (IN_C, 2, f"{STARRED}int"),
    "csharp": ("class A {\n    int Add(int a) {\n        return a;\n    }\n}\n", 3, "    /// <summary>\n    /// Adds"),
    "swift": ("func add(a: Int, b: Int) -> Int {\n    return a + b\n}\n", 2, f"{SLASHES}func"),
    "ruby": ("def add(a, b)\n  a + b\nend\n", 2, f"{HASHES}def"),
    "lua": ("local function add(a)\n  return a\nend\n", 2, SLASHES.replace("///", "---") + "local"),
    "zig": ("fn add(a: i32) i32 {\n    return a;\n}\n", 2, f"{SLASHES}fn"),
    "dart": ("int add(int a) {\n  return a;\n}\n", 2, f"{SLASHES}int"),
    "r": ("add <- function(a) {\n  a\n}\n", 2, SLASHES.replace("///", "#'") + "add"),
    "perl": ("sub add {\n    return 1;\n}\n", 2, f"{HASHES}sub"),
    "sql": ("CREATE VIEW add AS\nSELECT 1;\n", 2, SLASHES.replace("///", "--") + "CREATE"),
    "proto": ("message Add {\n  int32 a = 1;\n}\n", 2, SLASHES.replace("///", "//") + "message"),
    "component": ("<script>\nexport function add(a) {\n  return a;\n}\n</script>\n", 3, f"{STARRED}export"),
    "bash": ("add() {\n  echo $(($1 + $2))\n}\n", 2, f"{HASHES}add"),
}


def task(reading, path: str, text: str | bytes, line: int):
    workspace = reading({path: text})
    return documenting(workspace, WantedEdit(EditKind.DOCUMENT, Cursor(path, line, line)))


def test_a_script_is_documented_in_the_language_of_its_first_line(reading) -> None:
    after = task(reading, "bin/tool", f"#!/bin/sh\n\n{SAMPLES['bash'][0]}", 4).read(WORDS).after.decode()
    assert after.startswith(f"#!/bin/sh\n\n{HASHES}add")


def python(reading, words: str, text: str = "def add(a, b):\n    return a + b\n", line: int = 1) -> str:
    return task(reading, "a.py", text, line).read(words).after.decode()


@pytest.mark.parametrize("language", [one for one in LANGUAGES if one.documentation], ids=lambda one: one.name)
def test_each_language_has_its_manner_and_no_other_line_changes(reading, language) -> None:
    text, line, expected = SAMPLES[language.name]
    edit = task(reading, f"sample{language.suffixes[0]}", text, line).read(WORDS)
    after = edit.after.decode()
    assert expected in after
    assert [tag for tag, *_ in difflib.SequenceMatcher(None, text.split("\n"), after.split("\n")).get_opcodes()] in (
        ["insert", "equal"],
        ["equal", "insert", "equal"],
    )
    assert is_sound(edit)


ONE_LINE = 'def add(a, b):\n    """Adds two numbers."""\n    return a + b\n'


@pytest.mark.parametrize(
    "words",
    [
        "Adds two numbers.",
        "\n  Adds two numbers.  \n",
        '"""Adds two numbers."""',
        'def add(a, b):\n    """Adds two numbers."""\n    return a + b\n',
        "# Adds two numbers.",
        "/** Adds two numbers. */",
        "# Adds two numbers.\ndef add(a, b):\n    return a + b\n",
    ],
)
def test_words_are_taken_from_whatever_the_model_wraps_them_in(reading, words: str) -> None:
    assert python(reading, words) == ONE_LINE


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (r"Matches \d.", r'    r"""Matches \d."""'),
        ('Says "hello"', '    """Says "hello" """'),
        ('A """quoted""" word.', "    \"\"\"A '''quoted''' word.\"\"\""),
    ],
)
def test_nothing_in_a_docstring_ends_it(reading, words: str, line: str) -> None:
    task_ = task(reading, "a.py", "def add(a, b):\n    return a + b\n", 1)
    edit = task_.read(words)
    assert edit.after.decode().split("\n")[1] == line
    assert is_sound(edit)


def test_nothing_in_a_comment_ends_it(reading) -> None:
    edit = task(reading, "a.c", "int f(void) {\n    return 1;\n}\n", 1).read("Glob like a*/b. It ends */ here.")
    assert is_sound(edit)
    assert edit.after.decode().count("*/") == 1


def test_crlf_and_tabs_stay(reading) -> None:
    after = python(reading, "One.\n\nTwo.", "class A:\r\n\tdef f(self):\r\n\t\treturn 1\r\n", 3)
    assert after == 'class A:\r\n\tdef f(self):\r\n\t\t"""One.\r\n\r\n\t\tTwo.\r\n\t\t"""\r\n\t\treturn 1\r\n'


@pytest.mark.parametrize(
    ("path", "text", "line", "why"),
    [
        ("a.py", "import os\n", 1, "put the cursor on"),
        ("a.py", "def f(): return 1\n", 1, "no line of its own"),
        ("a.json", '{"a": 1}\n', 1, "document it by hand"),
        ("notes.txt", "words\n", 1, "document it by hand"),
    ],
)
def test_what_cannot_be_documented_says_why(reading, path: str, text: str, line: int, why: str) -> None:
    with pytest.raises(NotApplicableError, match=why):
        task(reading, path, text, line)

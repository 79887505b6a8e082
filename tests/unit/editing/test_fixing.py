"""A fix changes the function at the cursor, whatever of it and around it the model gives back."""

from __future__ import annotations

import pytest

from winnow_engine.editing.fixing import fixing
from winnow_engine.editing.request import EditKind, WantedEdit
from winnow_engine.errors import EditError, NoCodeError
from winnow_engine.question import Cursor

PRICING = '''"""Prices."""

import math


class Till:
    """Takes money."""

    # Rounded up, always.
    @staticmethod
    def cents(price):
        """In cents."""
        return math.ciel(price * 100)

    def total(self, prices):
        return sum(self.cents(price) for price in prices)


def label(price):
    return f"{price} EUR"
'''


def task(reading, text: str | bytes = PRICING, line: int = 13, path: str = "pricing.py", last: int | None = None):
    workspace = reading({path: text})
    return fixing(workspace, WantedEdit(EditKind.FIX, Cursor(path, line, last or line), ("no `ciel`",)))


def after(reading, code: str, **of) -> str:
    return task(reading, **of).read(code).after.decode()


def test_the_prompt_has_the_function_and_where_the_problem_is(reading) -> None:
    made = task(reading)
    assert "    # Rounded up, always.\n    @staticmethod\n    def cents(price):" in made.prompt
    assert "def total" not in made.prompt
    assert "The problem, at `return math.ciel(price * 100)`:\n- no `ciel`" in made.prompt
    assert (made.title, made.shown) == ("Fix `Till.cents`", (Cursor("pricing.py", 9, 13),))
    assert made.question.cursor == Cursor("pricing.py", 9, 13)


WANTED = PRICING.replace("ciel", "ceil")
ANSWERS = {
    "as it stands": '    # Rounded up, always.\n    @staticmethod\n    def cents(price):\n        """In cents."""\n'
    "        return math.ceil(price * 100)\n",
    "as a function": '@staticmethod\ndef cents(price):\n    """In cents."""\n    return math.ceil(price * 100)\n',
    "without its head": 'def cents(price):\n    """In cents."""\n    return math.ceil(price * 100)\n',
    "in its class": 'class Till:\n    @staticmethod\n    def cents(price):\n        """In cents."""\n'
    "        return math.ceil(price * 100)\n\n    def total(self, prices):\n        return 0\n",
    "with the whole file": PRICING.replace("ciel", "ceil").replace("EUR", "Euro"),
    "with an import that is there": 'import math\n\n\ndef cents(price):\n    """In cents."""\n'
    "    return math.ceil(price * 100)\n",
    "with a usage": 'def cents(price):\n    """In cents."""\n    return math.ceil(price * 100)\n\n\nprint(cents(2))\n',
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_only_what_is_wrong_changes(reading, answer: str) -> None:
    edit = task(reading).read(answer)
    assert edit.after.decode() == WANTED
    assert [(one.start_line, one.end_line) for one in edit.edits] == [(13, 13)]


def test_an_import_that_is_new_comes_with_it(reading) -> None:
    code = "import math\nfrom decimal import Decimal\n\ndef label(price):\n    return Decimal(price)\n"
    text = after(reading, code, line=20)
    assert text == PRICING.replace("import math\n", "import math\nfrom decimal import Decimal\n").replace(
        'f"{price} EUR"', "Decimal(price)"
    )


def test_crlf_and_tabs_stay(reading) -> None:
    tabs = PRICING.replace("    ", "\t").replace("\n", "\r\n")
    assert after(reading, ANSWERS["as a function"], text=tabs) == tabs.replace("ciel", "ceil")


@pytest.mark.parametrize("answer", ["def other():\n    pass\n", "\n\n", "It is fine.\n"])
def test_a_block_without_the_function_is_refused(reading, answer: str) -> None:
    with pytest.raises(NoCodeError):
        task(reading).read(answer)


@pytest.mark.parametrize("line", ["# ... rest unchanged", "...", "…", "# (existing code)", "/* Rest of the body */"])
def test_a_block_with_part_of_the_function_is_refused(reading, line: str) -> None:
    with pytest.raises(NoCodeError):
        task(reading).read(f"def cents(price):\n    {line}\n    return math.ceil(price * 100)\n")
    assert after(reading, "def f():\n    ...\n", text="def f():\n    pass\n", line=1) == "def f():\n    ...\n"
    text = "def f(x):\n    if x:\n        log(x)\n        stop()\n    return 1\n"
    with pytest.raises(NoCodeError):
        after(reading, f"def f(x):\n    if x:\n        {line}\n    return 1\n", text=text, line=1)


def test_of_a_very_long_function_the_statements_around_the_problem_are_shown(reading) -> None:
    body = "".join(f"    value_{n} = {n}\n" for n in range(400))
    made = task(reading, text=f"def long():\n{body}", line=202)
    assert "value_200 = 200" in made.prompt
    assert "value_399" not in made.prompt
    first, last = made.shown[0].start_line, made.shown[0].end_line
    shown = "".join(f"    value_{n} = {n + (n == 200)}\n" for n in range(first - 2, last - 1))
    assert last - first <= 100
    assert made.read(shown).after.decode() == f"def long():\n{body}".replace("value_200 = 200", "value_200 = 201")
    with pytest.raises(NoCodeError):
        made.read("    value_200 = 201\n")


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("a.py", b"def f():\n    return 'caf\xe9'\n", "not UTF-8 but cp1252"),
        ("a.py", b"# caf\xe9\ndef f():\n    return 1\n", "not UTF-8 but cp1252"),
        ("a.ipynb", b'{"cells": [{"cell_type": "code", "source": ["def f():\\n", "    return 1"]}]}', "a notebook"),
    ],
)
def test_a_file_that_an_edit_would_damage_is_left_to_its_owner(reading, path: str, text: bytes, why: str) -> None:
    with pytest.raises(EditError, match=why):
        task(reading, text=text, line=2, path=path)

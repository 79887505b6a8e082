"""Bugs by rule: one token of a Python function is another."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

_MOST_LINES = 40  # of a function, with its docstring
_LEAST_STATEMENTS = 3
_OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "is not": "is", "is": "is not",
    "not in": "in", "in": "not in", "and": "or", "or": "and", "+": "-", "-": "+", "*": "+", "//": "*", "%": "//",
}  # fmt: skip
_OPERATOR = re.compile(r"is not|not in|<=|>=|==|!=|//|\b(?:is|in|and|or)\b|[<>+\-*%]")
_WORDS = {"True": "False", "False": "True", "break": "continue"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file with one bug: on a line, `old` has become `new`. `first` and `last` are the lines of the function."""

    path: str
    function: str
    first: int
    last: int
    line: int
    old: str
    new: str
    text: str


@dataclass(frozen=True, slots=True)
class _Change:
    line: int
    start: int
    end: int
    new: str


def mutants(path: str, text: str, rng: random.Random) -> Iterator[Mutant]:
    """One bug in each function that is neither trivial nor long, in random order."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef) and _fits(node)]
    rng.shuffle(functions)
    for function in functions:
        changes = sorted(set(_changes(function, text.split("\n"))), key=lambda one: (one.line, one.start))
        if changes:
            yield _mutant(path, function, text, rng.choice(changes))


def _fits(function: ast.FunctionDef) -> bool:
    last = function.end_lineno or function.lineno
    statements = sum(isinstance(node, ast.stmt) for node in ast.walk(function)) - 1
    return last - function.lineno < _MOST_LINES and statements >= _LEAST_STATEMENTS


def _mutant(path: str, function: ast.FunctionDef, text: str, change: _Change) -> Mutant:
    lines = text.split("\n")
    line = lines[change.line - 1]
    lines[change.line - 1] = line[: change.start] + change.new + line[change.end :]
    first = min([function.lineno, *(one.lineno for one in function.decorator_list)])
    last = function.end_lineno or first
    old = line[change.start : change.end]
    return Mutant(path, function.name, first, last, change.line, old, change.new, "\n".join(lines))


def _changes(function: ast.FunctionDef, lines: list[str]) -> Iterator[_Change]:
    for node in ast.walk(function):
        if isinstance(node, ast.Compare):
            for left, right in zip([node.left, *node.comparators], node.comparators, strict=False):
                yield from _between(left, right, lines)
        elif isinstance(node, ast.BinOp):
            yield from _between(node.left, node.right, lines)
        elif isinstance(node, ast.BoolOp):
            yield from _between(node.values[0], node.values[1], lines)
        elif isinstance(node, ast.Constant):
            yield from _constant(node, lines)
        elif isinstance(node, ast.Break):
            yield from _word(node, "break", lines)


def _between(left: ast.expr, right: ast.expr, lines: list[str]) -> Iterator[_Change]:
    """The operator between two operands on one line of ASCII, where offsets in bytes are those of characters."""
    if left.end_lineno != right.lineno or left.end_col_offset is None or not lines[right.lineno - 1].isascii():
        return
    found = _OPERATOR.search(lines[right.lineno - 1], left.end_col_offset, right.col_offset)
    if found and found[0] in _OPERATORS:
        yield _Change(right.lineno, found.start(), found.end(), _OPERATORS[found[0]])


def _constant(node: ast.Constant, lines: list[str]) -> Iterator[_Change]:
    if isinstance(node.value, bool):
        yield from _word(node, str(node.value), lines)
    elif isinstance(node.value, int):
        text = str(node.value)
        if lines[node.lineno - 1][node.col_offset :].startswith(text):
            yield _Change(node.lineno, node.col_offset, node.col_offset + len(text), str(node.value + 1))


def _word(node: ast.Constant | ast.Break, word: str, lines: list[str]) -> Iterator[_Change]:
    if lines[node.lineno - 1][node.col_offset :].startswith(word):
        yield _Change(node.lineno, node.col_offset, node.col_offset + len(word), _WORDS[word])

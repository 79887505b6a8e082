"""Bugs by rule, tests that notice them, and what counts as mended."""

from __future__ import annotations

import ast
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from winnow_engine.core import Budget, Cancellation
from winnow_engine.editing.changes import FileEdit, LineEdit
from winnow_engine.errors import EvaluationError, UnchangedError
from winnow_research.evaluation.fixes import run as fixing
from winnow_research.evaluation.fixes.mutants import mutants
from winnow_research.evaluation.fixes.run import FixRun, bugs, outcomes
from winnow_research.evaluation.fixes.suites import Suite, Verdict, suites
from winnow_research.evaluation.repositories import Split

SOURCE = '''"""Numbers."""


def clamp(value, low, high):
    """Keep a value in a range."""
    if value < low:
        return low
    if value > high:
        return high
    return value


def trivial():
    return 1


@staticmethod
def several(items, flag=True):
    total = 0
    for item in items:
        if item is not None and item not in (3,):
            total = total + item * 2
        if not flag:
            break
    return total
'''
RATES = """"Rates."


def rate(count):
    base = count + 2
    if count == 3:
        base = base * 2
    return base
"""
TESTS = """from rates import rate


def test_rate():
    assert [rate(count) for count in range(6)] == [2, 3, 4, 10, 6, 7]
"""


def made(seed: int) -> list[Any]:
    return list(mutants("a.py", SOURCE, random.Random(seed)))


def test_each_bug_is_one_token_of_one_function() -> None:
    old = SOURCE.split("\n")
    seen = set()
    for seed in range(60):
        for mutant in made(seed):
            new = mutant.text.split("\n")
            changed = [number for number, pair in enumerate(zip(old, new, strict=True), 1) if pair[0] != pair[1]]
            assert changed == [mutant.line]
            assert mutant.first <= mutant.line <= mutant.last
            assert old[mutant.line - 1].count(mutant.old) >= 1
            assert ast.dump(ast.parse(mutant.text)) != ast.dump(ast.parse(SOURCE))
            seen.add((mutant.function, mutant.old, mutant.new))
    assert {function for function, *_ in seen} == {"clamp", "several"}
    assert {("is not", "is"), ("not in", "in"), ("+", "-"), ("*", "+"), ("0", "1"), ("True", "False")} <= {
        (old, new) for _, old, new in seen
    }
    assert ("several", "break", "continue") in seen


def test_equal_seeds_give_equal_bugs() -> None:
    assert made(1) == made(1)
    assert any(made(1) != made(seed) for seed in range(2, 9))


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    (tmp_path / "rates.py").write_text(RATES)
    (tmp_path / "test_rates.py").write_text(TESTS)
    return Suite("rates", tmp_path, {"rates.py": "test_rates.py"})


def test_tests_judge_a_text_and_leave_the_file_as_it_was(suite: Suite) -> None:
    assert suite.judge("rates.py", RATES) == Verdict(True)
    verdict = suite.judge("rates.py", RATES.replace("+ 2", "- 2"))
    assert not verdict.passed
    assert verdict.problem.startswith("test_rate fails: assert [")
    assert (suite.root / "rates.py").read_text() == RATES


def fixes(suite: Suite, monkeypatch: pytest.MonkeyPatch, propose: Any) -> list[Any]:
    monkeypatch.setattr(fixing, "propose", propose)
    run = FixRun(SimpleNamespace(), Budget(), lambda _: None, Cancellation())
    return list(run.run(bugs(suite, 0)))


def test_a_bug_that_the_tests_notice_is_mended_if_they_pass(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    def propose(_assistant: object, sources: Any, request: Any, *_: object, **__: object) -> Any:
        broken = (suite.root / request.cursor.path).read_text()
        assert broken != RATES
        assert request.problems[0].startswith("test_rate fails")
        assert sources.rules.include == ("rates.py", "test_rates.py")
        lines = broken.count("\n")
        edit = FileEdit(request.cursor.path, broken.encode(), (LineEdit(1, lines, RATES),))
        return SimpleNamespace(edit=edit, generation=SimpleNamespace(prompt_tokens=5, decode_tokens=7))

    (fix,) = fixes(suite, monkeypatch, propose)
    assert (fix.outcome, fix.restored, fix.function, fix.prompt_tokens) == ("mended", True, "rate", 5)
    assert (suite.root / "rates.py").read_text() == RATES


def test_an_answer_that_is_refused_or_wrong_counts_as_that(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> Any:
        raise UnchangedError("as it is")

    def wrong(_assistant: object, _sources: object, request: Any, *_: object, **__: object) -> Any:
        broken = (suite.root / request.cursor.path).read_bytes()
        edit = FileEdit(request.cursor.path, broken, (LineEdit(1, 1, '"""Others."""\n'),))
        return SimpleNamespace(edit=edit, generation=SimpleNamespace(prompt_tokens=5, decode_tokens=7))

    found = [*fixes(suite, monkeypatch, refused), *fixes(suite, monkeypatch, wrong)]
    assert outcomes(found) == {"mended": 0, "tests fail": 1, "UnchangedError": 1}


def test_a_split_without_such_projects_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="choose another split"):
        next(suites(Split.TEST, tmp_path))

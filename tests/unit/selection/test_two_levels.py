"""Search in two levels, with a drafter whose scores are numbers drawn by question and unit."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from winnow_engine.core import Cancellation
from winnow_engine.index.scope import in_scope
from winnow_engine.index.workspace import Workspace
from winnow_engine.keys.workspace_keys import KeyBlock, WorkspaceKeys
from winnow_engine.question import Cursor, Question
from winnow_engine.selection.fusion import fuse
from winnow_engine.selection.fusion_weights import FusionWeights
from winnow_engine.selection.scoring_input import ScoringInput, ask_drafter
from winnow_engine.selection.two_levels import TwoLevelSearch, search

EVERYTHING = {"_COARSE": 10_000, "_WORDS": 10_000, "_LINKED": 10_000}
NARROW = {"_COARSE": 60, "_WORDS": 30, "_LINKED": 10}
FEATURES = ("words", "titles", "paths", "names", "mentions", "users", "headers", "size", "file", "used", "using")
WEIGHTS = FusionWeights(
    {"maxsim": {"one": 1.9}, "pooled": {"one": 1.8}, **{name: {"one": 0.5, "named": 0.2} for name in FEATURES}},
    {"one": -2.0, "best_maxsim": 1.0, "best_pooled": 2.0, "lead": -0.5, "spread": -3.0},
)
QUESTIONS = (
    "how is the total computed",
    "who calls step_3_4?",
    "what is in m07.py and where does `step_1_1` get its value?",
    "How is a limit read, where is it written, and what does step 5 5 return?",
)


class Drawn:
    """Scores are normal; `maxsim` agrees with `pooled` more or less. `scored` counts the units scored in full."""

    def __init__(self, units: int) -> None:
        self.units, self.scored = units, 0
        self.two_levels: Drawn | None = self

    def scores(self, text: str) -> dict[str, np.ndarray]:
        random = np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little"))
        pooled, own = random.standard_normal((2, self.units), np.float32)
        return {"maxsim": 3 * (pooled + own / 2) + 20, "pooled": 2 * pooled + 5}

    def score(self, _: Any, __: Any, texts: list[str], *___: Any) -> list[dict[str, np.ndarray]]:
        return [self.scores(text) for text in texts]

    def states_of(self, texts: list[str], *_: Any) -> list[str]:
        return texts

    def score_coarsely(self, _: Any, __: Any, texts: list[str]) -> dict[str, np.ndarray]:
        return {"pooled": np.stack([self.scores(text)["pooled"] for text in texts])}

    def score_units(self, _: Any, __: Any, units: np.ndarray, text: str) -> dict[str, np.ndarray]:
        self.scored += len(units)
        return {name: scores[units] for name, scores in self.scores(text).items()}


def module(number: int) -> str:
    functions = (f"def step_{number}_{i}(value):\n    return step_{i}_{number}(value) + {i}\n" for i in range(40))
    return f"import os\n\nLIMIT = {number}\n\n\n" + "\n\n".join(functions)


@pytest.fixture(scope="module")
def workspace(
    tmp_path_factory: pytest.TempPathFactory, workspace_of: Callable[[dict[str, str], Path], Workspace]
) -> Workspace:
    return workspace_of({f"m{number:02}.py": module(number) for number in range(25)}, tmp_path_factory.mktemp("two"))


@pytest.fixture(autouse=True)
def small_sample(monkeypatch: pytest.MonkeyPatch, workspace: Workspace) -> None:
    monkeypatch.setattr("winnow_engine.index.file_table.SAMPLE_UNITS", 300)
    workspace.__dict__.pop("file_table", None)


def keys_of(workspace: Workspace, tokens: int = 9) -> WorkspaceKeys:
    units = len(workspace.units)
    part = KeyBlock(np.arange(units), np.arange(units + 1) * tokens, {})
    return WorkspaceKeys(np.full(units, tokens, np.int32), (part,), missing_tokens=0)


def exhaustive(workspace: Workspace, question: Question) -> ScoringInput:
    drafter: Any = Drawn(len(workspace.units))
    return ask_drafter(workspace, keys_of(workspace), drafter, question, Cancellation())


def two_levels(workspace: Workspace, question: Question, breadth: dict[str, int]) -> ScoringInput:
    drafter: Any = Drawn(len(workspace.units))
    with pytest.MonkeyPatch.context() as patch:
        for name, most in breadth.items():
            patch.setattr(f"winnow_engine.selection.two_levels.{name}", most)
        return TwoLevelSearch(workspace, keys_of(workspace), drafter, drafter).ask(question, Cancellation())


@pytest.mark.parametrize("text", QUESTIONS)
def test_with_every_unit_a_candidate_it_is_the_exhaustive_scan_bit_for_bit(workspace: Workspace, text: str) -> None:
    found = fuse(two_levels(workspace, Question(text), EVERYTHING), WEIGHTS)
    expected = fuse(exhaustive(workspace, Question(text)), WEIGHTS)
    assert found.log_odds == expected.log_odds
    assert np.array_equal(found.total, expected.total)
    assert found.contributions.keys() == expected.contributions.keys()
    assert all(np.array_equal(found.contributions[name], expected.contributions[name]) for name in found.contributions)


@pytest.mark.parametrize("text", QUESTIONS)
def test_few_candidates_lead_to_the_same_best_units_with_nearly_the_same_scores(
    workspace: Workspace, text: str
) -> None:
    found = fuse(two_levels(workspace, Question(text), NARROW), WEIGHTS)
    expected = fuse(exhaustive(workspace, Question(text)), WEIGHTS)
    first = np.argsort(-expected.total)[:10]
    assert len(found.units) < len(workspace.units)
    assert abs(found.log_odds - expected.log_odds) < 0.3
    np.testing.assert_allclose(found.total[first], expected.total[first], atol=0.6)
    for unit in first[:3]:
        assert found.contributions_to(int(unit)).keys() == expected.contributions_to(int(unit)).keys()


def test_units_at_the_cursor_and_in_the_paths_asked_about_are_scored(workspace: Workspace) -> None:
    question = Question(QUESTIONS[0], Cursor("m03.py", 9, 9), paths=("m04.py",))
    found = two_levels(workspace, in_scope(workspace.located(question), workspace, Cancellation()), NARROW)
    assert set(np.unique(found.file_numbers)) >= {3, 4}
    for number in (3, 4):
        assert (found.file_numbers == number).sum() == len(workspace.files[number].units)


def test_the_small_the_incomplete_and_the_much_kept_are_scored_whole(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow_engine.selection.two_levels.LEAST_TOKENS", 9 * len(workspace.units))
    keys, drafter = keys_of(workspace), Drawn(len(workspace.units))

    def candidates(keys: WorkspaceKeys, budget: int | None = None) -> object:
        one: Any = drafter
        return search(workspace, keys, one, Question("what?"), Cancellation(), budget).candidates

    assert candidates(keys) is not None
    assert candidates(keys, budget=2600) is not None
    assert candidates(keys, budget=100_000) is None
    assert candidates(keys_of(workspace, tokens=8)) is None
    assert candidates(replace(keys, missing_tokens=1)) is None
    drafter.two_levels = None
    assert candidates(keys) is None

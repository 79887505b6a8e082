"""A second stage: which units are read, how what is said of them is added, and what is not asked."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from git_repositories import write

from winnow_cuda.device import DeviceError
from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Cancellation, Folder, Sampling, ignore
from winnow_engine.encoder.profiles import RerankerUse
from winnow_engine.errors import ModelDamagedError, ProfileError, UnsupportedModelError
from winnow_engine.index.workspace import Sources, Workspace
from winnow_engine.question import Question, Turn
from winnow_engine.reranker.background import BackgroundReranker
from winnow_engine.reranker.layout import UnitText
from winnow_engine.reranker.reranking import rerank, units_to_read
from winnow_engine.selection.fusion import FusedScores, fuse
from winnow_engine.selection.fusion_weights import FusionWeights
from winnow_engine.selection.scoring_input import ScoringInput
from winnow_engine.storage.store import Store

from ..editing.conftest import Scripted
from ..encoder.fakes import Letters, Paths
from ..selection.words import Words

NEVER = Cancellation()
USE = RerankerUse(Path("reranker"), 2.0, 2000)
STEPS = {f"m{n}.py": f"def step_{n}(value):\n    return value + {10**n}\n" for n in range(9)}
WEIGHTS = FusionWeights({"drafter": {"one": 1.0}}, {"one": 1.5})


class Template(Paths):
    def question(self, text: str, code: Any) -> Any:
        return type("Encoded", (), {"ids": Letters().tokenize(text)})


class Stub:
    """A drafter whose tokens are bytes."""

    vocabulary, template = Letters(), Template()


class Shown(UnitText):
    """A segment of one unit."""

    def __len__(self) -> int:
        return len(self.ids)


class LongestFirst:
    """A reranker to which a unit says how long it is; it keeps what it was asked and shown."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.shown: list[list[UnitText]] = []

    def segments(self, question: np.ndarray, units: Sequence[UnitText]) -> list[Shown]:
        self.asked.append(bytes(question.astype(np.uint8)).decode())
        self.shown.append(list(units))
        return [Shown(unit.file, unit.header, unit.ids) for unit in units]

    def scores(self, segments: list[Shown], cancellation: Cancellation) -> np.ndarray:
        cancellation.check()
        return np.array([len(unit.ids) for unit in segments], np.float32)


def asked(workspace: Workspace, text: str, parts: int = 0) -> ScoringInput:
    scores = np.arange(len(workspace.units), dtype=np.float32)
    one = ScoringInput(workspace, Question(text), {"drafter": scores})
    return replace(one, subquestions=(one,) * parts)


def tokens_of(workspace: Workspace) -> np.ndarray:
    return np.array([len(file.text_of(unit)) for file, unit in workspace.units], np.int32)


def read_again(question: ScoringInput, use: RerankerUse = USE, reranker: Any = None) -> tuple[FusedScores, FusedScores]:
    """The scores before and after."""
    before, tokens = fuse(question, WEIGHTS), tokens_of(question.workspace)
    background = BackgroundReranker(use, lambda: reranker or LongestFirst(), pytest.fail)
    return before, rerank(question, before, tokens, Stub(), background, NEVER)  # type: ignore[arg-type]


def test_what_the_reranker_says_is_added_less_its_mean(workspace: Workspace) -> None:
    before, after = read_again(asked(workspace, "what happens"))
    said = tokens_of(workspace).astype(np.float32)
    wanted = before.total + 2 * (said - said.mean())
    np.testing.assert_allclose(after.total, wanted - wanted.max() + before.log_odds, rtol=1e-5)
    assert after.total.max() == pytest.approx(before.log_odds)
    np.testing.assert_allclose(after.contributions["reranker"], 2 * (said - said.mean()), rtol=1e-5)
    assert after.contributions_to(0)["reranker"] == pytest.approx(2 * (said[0] - said.mean()), abs=0.01)
    assert before.sizing is None, "how much to keep is decided without the reranker"
    np.testing.assert_array_equal(after.sizing, before.total)
    assert not np.array_equal(after.total, before.total)


def test_what_leads_by_its_chance_a_token_is_read_as_far_as_it_fits(
    workspace_of: Callable[[dict[str, str], Path], Workspace], tmp_path: Path
) -> None:
    workspace = workspace_of({f"m{n}.py": f"def apart_{n}():\n    return {n}\n" for n in range(6)}, tmp_path)
    total = np.array([3.0, 2.9, 9.0, 2.0, -np.inf, 1.0], np.float32)
    tokens = np.array([100, 40, 0, 40, 40, 40], np.int32)
    # The second unit comes first. What cannot be kept, or was not scored, is not read. Leaders lead to one another.
    assert units_to_read(workspace, total, tokens, 0).tolist() == []
    assert units_to_read(workspace, total, tokens, 2 * 99).tolist() == [1]
    assert units_to_read(workspace, total, tokens, 2 * 139).tolist() == [0, 1]
    assert units_to_read(workspace, total, tokens, 2 * 140).tolist() == [0, 1, 3, 5]


def test_of_a_list_each_question_is_asked_about_what_leads_for_it(workspace: Workspace) -> None:
    question, reranker = asked(workspace, "what happens"), LongestFirst()
    count = len(workspace.units)
    leads = [np.roll(np.arange(count, dtype=np.float32), by) for by in range(3)]
    parts = (ScoringInput(workspace, Question(f"question {n}"), {"drafter": lead}) for n, lead in enumerate(leads))
    room = int(tokens_of(workspace).max())
    use = replace(USE, tokens=6 * room)
    before, after = read_again(replace(question, subquestions=tuple(parts)), use, reranker)
    assert reranker.asked == ["question 0", "question 1", "question 2"]
    assert all(sum(len(unit.ids) for unit in shown) <= 2 * room for shown in reranker.shown)
    assert len({tuple(bytes(unit.ids.astype(np.uint8)) for unit in shown) for shown in reranker.shown}) == 3
    assert before.log_shares is not None
    np.testing.assert_allclose(np.exp(before.log_shares[1:]).sum(1), 1, rtol=1e-5)
    assert not np.array_equal(after.total, before.total)
    some = before.among(np.array([0, 2])).log_shares
    assert some is not None
    assert np.isinf(some[:, 1]).all()
    np.testing.assert_array_equal(some[:, [0, 2]], before.log_shares[:, [0, 2]])


class Failing(LongestFirst):
    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    def scores(self, segments: list[Shown], cancellation: Cancellation) -> np.ndarray:
        if isinstance(self.answer, Exception):
            raise self.answer
        return np.full(len(segments), self.answer, np.float32)


def failing(error: Exception) -> Any:
    raise error


@pytest.mark.parametrize(
    ("load_reranker", "said"),
    [
        (lambda: Failing(DeviceError("cuMemAlloc: no room")), ", because the GPU failed (cuMemAlloc: no room)"),
        (lambda: Failing(np.nan), ": its scores are not finite; `winnow models verify` says "),
        (lambda: Failing(-np.inf), ": its scores are not finite; `winnow models verify` says "),
        (lambda: failing(DeviceError("no GPU")), ", because the GPU failed (no GPU)"),
        (lambda: failing(ModelDamagedError("it is cut short")), ": it is cut short"),
        (lambda: failing(UnsupportedModelError("it lacks a tensor")), ": it lacks a tensor"),
        (lambda: failing(ProfileError("it does not fit")), ": it does not fit"),
    ],
)
def test_a_reranker_that_fails_is_given_up_and_said_so_once(
    workspace: Workspace, load_reranker: Callable[[], Any], said: str
) -> None:
    notices: list[str] = []
    opened: list[None] = []

    def load() -> Any:
        opened.append(None)
        return load_reranker()

    background = BackgroundReranker(USE, load, notices.append)
    question = asked(workspace, "what happens")
    before = fuse(question, WEIGHTS)
    for _ in range(2):
        assert rerank(question, before, tokens_of(workspace), Stub(), background, NEVER) is before  # type: ignore[arg-type]
        assert background.begin().settle() is None
    (notice,) = notices
    assert notice.startswith(f"the reranker is not used{said}")
    assert len(opened) == 1


def test_a_question_does_not_wait_long_for_a_reranker_that_is_loading(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow_engine.reranker.background._LOADING_S", 0.05)
    loaded = Event()

    def load() -> Any:
        loaded.wait(30)
        return LongestFirst()

    question, background = asked(workspace, "what happens"), BackgroundReranker(USE, load, pytest.fail)
    before, tokens = fuse(question, WEIGHTS), tokens_of(workspace)
    assert rerank(question, before, tokens, Stub(), background, NEVER) is before  # type: ignore[arg-type]
    loaded.set()
    background.begin().settle()
    assert rerank(question, before, tokens, Stub(), background, NEVER) is not before  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("took", "tokens"), [(0.05, 16000), (0.12, 16000), (0.13, 8000), (0.4, 4000), (0.9, 2000), (1.0, 0), (60.0, 0)]
)
def test_as_many_tokens_are_read_as_may_take_their_time(workspace: Workspace, took: float, tokens: int) -> None:
    class Timed(LongestFirst):
        def seconds(self, count: int) -> float:
            assert count == 16000
            return took

    reranker, use = Timed(), replace(USE, tokens=16000)
    background = BackgroundReranker(use, lambda: reranker, pytest.fail, 0.12)  # type: ignore[arg-type, return-value]
    assert background.tokens(NEVER) == tokens
    question = asked(workspace, "what happens")
    before = fuse(question, WEIGHTS)
    after = rerank(question, before, tokens_of(workspace), Stub(), background, NEVER)  # type: ignore[arg-type]
    assert (after is before) == (not tokens) == (not reranker.shown)


class Reading(Words):
    vocabulary, template, place, two_levels = Letters(), Template(), "resident", None


def test_the_assistant_reads_what_leads_and_says_how_long_that_took(tmp_path: Path) -> None:
    root, reranker, drafter = tmp_path / "root", LongestFirst(), Reading()
    write(root, STEPS)
    for background in (None, BackgroundReranker(USE, lambda: reranker, pytest.fail)):
        opened = Assistant(
            store := Store(tmp_path / "index.sqlite"), lambda: drafter, open_reranker=lambda _, it=background: it
        )
        with closing(store), closing(opened) as one:
            selection = one.select(Sources((Folder(root),)), Question("what does step_3 do"), Budget(12))
        wanted = ["read", "load_drafter", "index", "score", *(["rerank"] if background else []), "select"]
        assert list(selection.stats.stages) == wanted
        assert any("reranker" in span.features for span in selection.spans) == (background is not None)
    assert len(reranker.shown) == 1


def test_a_follow_up_is_not_ranked_again(tmp_path: Path) -> None:
    write(tmp_path / "root", STEPS)
    reranker, sources, turns = LongestFirst(), Sources((Folder(tmp_path / "root"),)), list[Turn]()
    background, target = BackgroundReranker(USE, lambda: reranker, pytest.fail), Scripted("So.")
    vars(target).update(parameters=None, prefill_tokens_per_s=None, host=None, place="server", close=lambda: None)
    with (
        closing(Store(tmp_path / "index.sqlite")) as store,
        closing(Assistant(store, Reading, lambda: target, open_reranker=lambda _: background)) as one,
    ):
        for text in ("what does `step_3` do", "what does `step_3` give?", "and `step_5`?"):
            question = Question(text, earlier=tuple(turns))
            answer = one.ask(sources, question, Budget(6), Sampling(), ignore)
            turns.append(Turn(text, answer.text))
            assert len(reranker.shown) == 1
            assert ("rerank" in answer.stats.stages) == (len(turns) == 1)
        nearest = one.ask(sources, Question("what do they give?"), Budget(1), Sampling(), ignore).text
        assert "m8.py" in nearest, "places are named by the reranker's scores, where nothing is kept"
    assert len(target.asked[-1].prompt) > len(target.asked[0].prompt), "the prompt went on"
    assert "step_5" in "".join(message.content for message in target.asked[-1].prompt)


def test_a_gpu_that_fails_during_a_question_ranks_again_no_more(tmp_path: Path) -> None:
    write(tmp_path / "root", STEPS)

    class Failing(Reading):
        def score(self, *args: Any, **kwargs: Any) -> Any:
            self.place = "cpu"
            return super().score(*args, **kwargs)

    reranker = LongestFirst()
    background = BackgroundReranker(USE, lambda: reranker, pytest.fail)
    opened = Assistant(store := Store(tmp_path / "index.sqlite"), Failing, open_reranker=lambda _: background)
    with closing(store), closing(opened) as one:
        selection = one.select(Sources((Folder(tmp_path / "root"),)), Question("what does step do"), Budget(12))
    assert "rerank" not in selection.stats.stages
    assert not reranker.shown

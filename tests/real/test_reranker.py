"""A reranker on the real drafter: of random weights it moves units as its formula says; what ships finds answers."""

import json
import mmap
import weakref
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_models import write_reranker

import winnow_engine.assistant
from winnow_engine.assistant import Assistant, open_assistant
from winnow_engine.config import FileRules, ModelConfig
from winnow_engine.core import Budget, Cancellation, Folder
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.profiles import shipped_profile
from winnow_engine.encoder.template import Template
from winnow_engine.index.workspace import Sources
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.models.cache import locate
from winnow_engine.models.gguf_header import read_header
from winnow_engine.question import Question
from winnow_engine.reranker.background import BackgroundReranker, open_reranker
from winnow_engine.reranker.file import read_reranker
from winnow_engine.reranker.reranker import load_reranker
from winnow_engine.reranker.reranking import texts_of
from winnow_engine.selection.ranking import Selection
from winnow_engine.selection.subquestions import subquestions_of
from winnow_engine.storage.store import Store
from winnow_research.calibration.profile_writing import fingerprint_of, write_profile
from winnow_research.errors import EvaluationError
from winnow_research.evaluation.methods.winnow import Winnow

pytestmark = pytest.mark.real_weights

QUESTION = "Which function cuts a file's tokens into segments at unit borders?"
SOURCES = Sources((Folder(Path(__file__).parents[2] / "engine" / "winnow_engine" / "reranker"),))
FEW = Sources(SOURCES.folders, FileRules(include=("layout.py", "reranking.py")))
USE = {"weight": 2.0, "tokens": 16000}


@pytest.fixture
def profile(qwen_small: Path, users_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The shipped profile with a reranker of four layers, as the user's. Weights are merged for the first test."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(users_cache))
    name, folder = fingerprint_of(qwen_small), tmp_path / "winnow" / "profiles" / "mine"
    shipped = shipped_profile(name)
    assert shipped is not None
    write_profile(folder, name, shipped.fusion, adapter=shipped.adapter)
    write_reranker(folder / "reranker.safetensors", qwen_small, 4, rank=2)
    document = json.loads((folder / "profile.json").read_text())
    (folder / "profile.json").write_text(json.dumps({**document, "reranker": {"file": "reranker.safetensors", **USE}}))
    return folder


@pytest.fixture
def on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """The drafter says so, at least."""
    monkeypatch.setattr(Drafter, "place", "resident")


def selected(
    drafter: Drafter, folder: Path, reranker: BackgroundReranker | None, question: str = QUESTION
) -> Selection:
    if reranker is not None:
        reranker.begin().settle()  # a question waits for two seconds at most
    with (
        closing(Store(folder / "index.sqlite")) as store,
        closing(Assistant(store, lambda: drafter, open_reranker=lambda _: reranker)) as assistant,
    ):
        return assistant.select(FEW, Question(question), Budget(50_000))


def test_what_it_says_is_added_less_its_mean(
    qwen_small: Path, profile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = selected(Drafter(qwen_small), tmp_path, None)
    assert "rerank" not in before.stats.stages
    monkeypatch.setattr(Drafter, "place", "resident")
    drafter = Drafter(qwen_small)
    background = open_reranker(drafter)
    after = selected(drafter, tmp_path, background)
    assert after.stats.stages["rerank"] > 0
    workspace = after.workspace
    assert background is not None
    texts = texts_of(workspace, np.arange(len(workspace.units)), drafter)
    said = background.scores(drafter.template.question(QUESTION).ids, texts, Cancellation())
    assert said is not None
    added = 2 * (said - said.mean())
    place = {(file.path, unit.start_line): number for number, (file, unit) in enumerate(workspace.units)}
    old, new = (
        {place[one.path, one.start_line]: one.score - one.features.get("order", 0.0) for one in some.spans}
        for some in (before, after)
    )
    assert set(old) == set(new) == set(place.values())
    moved = np.array([new[unit] - old[unit] for unit in sorted(new)])
    np.testing.assert_allclose(moved - moved.mean(), added, atol=0.1)  # features below 0.05 are left out
    assert sorted(old, key=lambda unit: -old[unit]) != sorted(new, key=lambda unit: -new[unit])
    assert all(
        one.features.get("reranker", 0) == pytest.approx(added[place[one.path, one.start_line]], abs=0.05)
        for one in after.spans
    )


@pytest.mark.usefixtures("on_a_device", "profile")
def test_of_a_list_each_question_is_read_by_itself(
    qwen_small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, scores = [], BackgroundReranker.scores

    def watched(self: BackgroundReranker, question: np.ndarray, *rest: Any) -> Any:
        asked.append(question.tolist())
        return scores(self, question, *rest)

    monkeypatch.setattr(BackgroundReranker, "scores", watched)
    listed = "(1) How are segments cut? (2) Where is the head's formula? (3) How is a broken file told from a reranker?"
    drafter = Drafter(qwen_small)
    after = selected(drafter, tmp_path, open_reranker(drafter), listed)
    parts = subquestions_of(listed)
    assert len(parts) == 3
    assert asked == [drafter.template.question(part).ids.tolist() for part in parts]
    assert any("reranker" in span.features for span in after.spans)


def test_on_the_cpu_nothing_of_it_is_opened(qwen_small: Path, profile: Path) -> None:
    (profile / "reranker.safetensors").unlink()
    drafter = Drafter(qwen_small)
    assert open_reranker(drafter) is None
    assert drafter.notice is None


@pytest.mark.usefixtures("on_a_device", "profile")
@pytest.mark.parametrize("room", [True, False])
@pytest.mark.parametrize("answers", [True, False])
def test_it_is_loaded_with_the_models_that_answer(
    answers: bool, room: bool, qwen_small: Path, smollm2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[BackgroundReranker] = []
    monkeypatch.setattr(BackgroundReranker, "begin", lambda self: begun.append(self))
    monkeypatch.setattr(winnow_engine.assistant, "room_for_reranker", lambda models, answers: room)
    models = ModelConfig(str(qwen_small), str(smollm2))
    with (
        closing(Store(tmp_path / "index.sqlite")) as store,
        closing(open_assistant(models, store, answers=answers)) as assistant,
    ):
        assistant.keys.wait_for(Cancellation())
        assert (assistant.reranker is not None) == room
        assert begun == ([assistant.reranker] if room and answers else [])


def use_layers_of(profile: Path, model: str) -> None:
    document = json.loads((profile / "profile.json").read_text())
    document["reranker"]["model"] = model
    (profile / "profile.json").write_text(json.dumps(document))


@pytest.mark.usefixtures("on_a_device")
def test_without_the_model_whose_layers_it_has_a_notice_says_how_to_get_it(
    qwen_small: Path, profile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_layers_of(profile, "qwen2.5-coder-1.5b")
    monkeypatch.setenv("WINNOW_MODELS_DIR", str(tmp_path / "models"))
    drafter = Drafter(qwen_small)
    assert open_reranker(drafter) is None
    assert drafter.notice is not None
    assert "the reranker is not used: qwen2.5-coder-1.5b is not at" in drafter.notice
    assert "run `winnow models pull qwen2.5-coder-1.5b`" in drafter.notice
    with pytest.raises(EvaluationError, match="the reranker is not used"):
        Winnow(lambda: drafter).ranker(None)  # type: ignore[arg-type]


SHOWN = ("background.py", "file.py", "layout.py", "reranking.py")
ANSWERS = {
    "How are the votes of a unit's tokens weighed into one score?": "RerankerHead.scores",
    "Which function cuts units into segments that fit a reranker?": "segments_of",
}


class Frugal:
    """Has weights that are mapped dropped from memory after each layer: those of the reranker are 2.7 GB."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.maps = weakref.WeakSet[mmap.mmap]()
        monkeypatch.setattr(mmap, "mmap", self._mapped)

    def _mapped(self, *args: Any, of: type[mmap.mmap] = mmap.mmap, **options: Any) -> mmap.mmap:
        made = of(*args, **options)
        self.maps.add(made)
        return made

    def check(self) -> None:
        for one in self.maps:
            one.madvise(mmap.MADV_DONTNEED)


def test_the_one_that_ships_finds_what_answers(
    qwen_small: Path, qwen_target: Path, users_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(users_cache))
    shipped = shipped_profile(fingerprint_of(qwen_small))
    assert shipped is not None
    assert shipped.reranker is not None
    assert shipped.reranker.model is not None
    assert locate(shipped.reranker.model) == qwen_target
    file = read_reranker(shipped.reranker.file, read_header(qwen_target))
    never = Frugal(monkeypatch)
    prefix = Template(Vocabulary(LlamaModel(qwen_small, vocabulary_only=True))).prefix
    reranker = load_reranker(qwen_target, file, prefix)
    never.check()
    drafter = Drafter(qwen_small)
    with closing(Store(tmp_path / "index.sqlite")) as store, closing(Assistant(store, lambda: drafter)) as assistant:
        workspace = assistant.read(SOURCES, Cancellation())
    named = {unit.name: i for i, (file, unit) in enumerate(workspace.units) if unit.name and file.path.endswith(SHOWN)}
    read = zip(named, texts_of(workspace, np.array([*named.values()]), drafter), strict=True)
    # The short ones besides the answers: on one core, a question about all 33 takes two minutes.
    texts = {name: text for name, text in read if len(text.ids) <= 80 or name in ANSWERS.values()}
    ranks = []
    for question, name in ANSWERS.items():
        segments = reranker.segments(drafter.template.question(question, None).ids, [*texts.values()])
        scores = reranker.scores(segments, never)  # type: ignore[arg-type]
        ranks.append([[*texts][place] for place in np.argsort(-scores)].index(name))
    assert max(ranks) < 2, ranks

"""Calibrating a real drafter on two workspaces small enough for any machine."""

from dataclasses import asdict
from pathlib import Path

import pytest

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Cancellation, Folder
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.heads import heads_of
from winnow_engine.encoder.profiles import OpenedProfile, users_profile
from winnow_engine.encoder.weights import shape_of
from winnow_engine.index.workspace import Sources
from winnow_engine.keys.key_cache import KeyCache
from winnow_engine.models.gguf_header import read_header
from winnow_engine.question import Question
from winnow_engine.selection.fusion_weights import read_fusion_weights
from winnow_engine.storage.store import Store
from winnow_research.calibration import calibrate
from winnow_research.calibration.calibrate import Calibration
from winnow_research.calibration.fusion import fit_fusion, mean_reciprocal_rank
from winnow_research.calibration.heads import choose_heads
from winnow_research.calibration.observations import Observer, observe
from winnow_research.calibration.profile_writing import with_fusion
from winnow_research.evaluation.cases import Case, Gold, Scene
from winnow_research.evaluation.parallel import WorkItem
from winnow_research.evaluation.repositories import SourceFile

pytestmark = pytest.mark.real_weights

FUNCTIONS = {
    "files.py": {
        "load": ("def load(p):\n    with open(p) as f:\n        return f.read()\n", "Read the whole text of a file."),
        "gone": ("def gone(p):\n    import os\n    os.remove(p)\n", "Delete something from the disk."),
    },
    "net.py": {
        "get": ("def get(u):\n    import urllib.request\n    return urllib.request.urlopen(u)\n", "Download a page."),
        "wait": ("def wait(n):\n    import time\n    time.sleep(n)\n", "Do nothing for some seconds."),
    },
    "numbers.py": {
        "mean": ("def mean(xs):\n    return sum(xs) / len(xs)\n", "Compute the average of a list."),
        "odd": ("def odd(n):\n    return n % 2 == 1\n", "Tell whether a number leaves a remainder of one."),
    },
}


def scene(*paths: str) -> Scene:
    files, cases = [], []
    for path in paths:
        line, text = 1, ""
        for code, sentence in FUNCTIONS[path].values():
            last = line + code.count("\n") - 1
            cases.append(Case("describe", "tiny", "python", Question(sentence), (Gold(path, line, last),)))
            text, line = f"{text}{code}\n", last + 2
        files.append(SourceFile(path, text.encode()))
    unanswered = Case("negative", "tiny", "python", Question("Parse the grammar of a query language."), ())
    return Scene("tiny", tuple(files), (*cases, unanswered))


def answered(one: Scene) -> Scene:
    return Scene(one.name, one.files, tuple(case for case in one.cases if case.golds))


def test_heads_and_fusion_are_learned_from_questions_with_known_answers(smollm2: Path, tmp_path: Path) -> None:
    scenes = [scene("files.py", "numbers.py"), scene("net.py", "numbers.py")]
    store = Store(tmp_path / "index.sqlite")
    heads = choose_heads(smollm2, map(answered, scenes), store, lambda _: None, Cancellation())
    assert 1 <= len(heads) <= 6
    assert all(head.weight > 0 for head in heads)
    shape = shape_of(read_header(smollm2), 1)
    profile = heads_of(map(asdict, heads), shape.heads, shape.group)
    cache = KeyCache(store, Drafter(smollm2, with_fusion(profile)))
    observations = [one for each in scenes for one in observe(each, cache, lambda _: None, Cancellation())]
    gate = fit_fusion(observations)
    store.close()
    assert len(observations) == 10
    assert mean_reciprocal_rank(observations, gate) > 0.6  # 0.52 is chance among four functions
    assert read_fusion_weights(gate.document()) == gate
    assert {"heads", "words", "names"} <= gate.units.keys()


def test_a_calibration_writes_the_folder_that_the_drafter_then_uses(
    smollm2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything but the choice of heads, on tiny workspaces in place of the pinned repositories."""
    heads = [{"layer": 8, "head": 1, "feature": "all", "weight": 1.0}]
    poor = {"kinds": {"heads": {"one": -1.0}}, "clues": {}}
    tiny = [WorkItem("describe", 100, paths) for paths in ("files.py numbers.py", "net.py numbers.py")]
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(calibrate, "corpus_of", lambda *_: None)
    monkeypatch.setattr(calibrate, "_items", lambda *_: tiny)
    monkeypatch.setattr(Calibration, "_heads", lambda *_: heads)
    monkeypatch.setattr(calibrate, "shipped", lambda _: OpenedProfile(heads_of(heads, 9, 3), poor))
    monkeypatch.setattr(
        Observer,
        "all_of",
        lambda self, task: list(observe(scene(*task.repository.split()), self.cache, self.progress, Cancellation())),
    )
    said: list[str] = []
    calibration = Calibration(tmp_path / "index.sqlite", False, 1, said.append, lambda _: None, Cancellation())
    folder = calibration.run(smollm2)
    assert folder == tmp_path / "winnow" / "profiles" / "715f8be624f4b8e5"
    assert any(line.startswith("held out: ") for line in said)
    own = users_profile("715f8be624f4b8e5")
    assert own is not None
    assert own.document["heads"] == heads
    assert Drafter(smollm2).fusion == own.fusion


def test_the_automatic_budget_says_what_it_decided(qwen_small: Path, tmp_path: Path) -> None:
    root, store = tmp_path / "root", Store(tmp_path / "index.sqlite")
    scene("files.py", "net.py", "numbers.py").write(root)
    drafter = Drafter(qwen_small)
    assistant, sources = Assistant(store, lambda: drafter), Sources((Folder(root),))
    found = assistant.select(sources, Question("Which function computes the average of a list?"), Budget())
    lost = assistant.select(sources, Question("How are Kafka partitions rebalanced?"), Budget())
    store.close()
    assert "mean" in [span.name for span in found.spans]
    assert found.stats.budget_tokens == 400  # one place surely answers
    assert found.stats.answer_probability > lost.stats.answer_probability
    assert bool(lost.notices) == (lost.stats.answer_probability < 0.076)  # log-odds of −2.5
    assert lost.spans

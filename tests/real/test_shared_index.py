"""An index that one user wrote is used by another, who has nothing of it and encodes only what he edits."""

import json
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Folder
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.index.workspace import Sources
from winnow_engine.question import Question
from winnow_engine.sharing.index import attach
from winnow_engine.storage.store import Store

from ..unit.sharing.serving import served
from .user import User

pytestmark = pytest.mark.real_weights

QUESTION = Question("Which words of a text are left out?")
SOURCE = Path(__file__).parents[2] / "engine" / "winnow_engine" / "index"
FILES = ("bm25.py", "lines.py", "names.py")


@pytest.fixture
def drafter(smollm2: Path) -> Drafter:
    return Drafter(smollm2)


@pytest.fixture
def published(user: User, tmp_path: Path) -> Path:
    """What `winnow index --out` wrote about a clone of the project."""
    clone, out = _project(tmp_path / "ci" / "project"), tmp_path / "index"
    done = user.run("index", "-w", str(clone), "--drafter", "smollm2-135m", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert f"MB in {out}, as " in done.stdout
    return out


def _project(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name in FILES:
        shutil.copy(SOURCE / name, folder / name)
    return folder


@contextmanager
def _assistant(path: Path, drafter: Drafter, *shared: str) -> Iterator[Assistant]:
    with closing(Store(path)) as store:
        attach(store, shared)
        with closing(Assistant(store, lambda: drafter)) as assistant:
            yield assistant


def test_a_fresh_clone_of_what_was_indexed_encodes_nothing(
    published: Path, drafter: Drafter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = Sources((Folder(_project(tmp_path / "clone")),))
    with _assistant(tmp_path / "own.sqlite", drafter) as assistant:
        expected = assistant.select(sources, QUESTION, Budget(400))
    encoded: list[str] = []
    encode = drafter.encode
    monkeypatch.setattr(
        drafter, "encode", lambda files, *rest: encode((f for f in files if not encoded.append(f.path)), *rest)
    )
    with served(published) as url, _assistant(tmp_path / "theirs.sqlite", drafter, url) as assistant:
        found = assistant.select(sources, QUESTION, Budget(400))
    assert encoded == []
    assert [(one.path, one.start_line) for one in found.spans] == [(one.path, one.start_line) for one in expected.spans]
    # Another process encoded it, which may multiply with OpenBLAS's kernels for another processor.
    np.testing.assert_allclose([one.score for one in found.spans], [one.score for one in expected.spans], atol=0.1)
    assert found.notices == ()
    (tmp_path / "clone" / "lines.py").write_text('def left_out(text):\n    """Which words of a text are left out."""\n')
    with _assistant(tmp_path / "theirs.sqlite", drafter, str(published)) as assistant:
        edited = assistant.select(sources, QUESTION, Budget(400))
    assert encoded == ["lines.py"]
    assert "left_out" in {span.name for span in edited.spans}


def test_one_index_has_several_repositories_and_a_question_may_be_about_them_all(
    user: User, drafter: Drafter, tmp_path: Path
) -> None:
    out, other = tmp_path / "index", tmp_path / "other"
    other.mkdir()
    (other / "waiting.py").write_text('def wait_for_bus():\n    """Wait until the bus comes."""\n    return 1\n')
    both = ("-w", str(_project(tmp_path / "project")), "-w", str(other))
    done = user.run("index", *both, "--drafter", "smollm2-135m", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("project: 3 files")
    assert "other: 1 file, 1 unit," in done.stdout
    asked = ("--drafter", "smollm2-135m", "--target", "smollm2-135m", "--budget", "300", "--set", "maxTokens=4")
    answered = user.run(
        "ask", "What does wait_for_bus wait for?", *both, *asked, "--json", "--set", f"index.shared={out}"
    )
    assert answered.returncode == 0, answered.stderr
    places = {span["path"] for span in json.loads(answered.stdout)["spans"]}
    assert "other/waiting.py" in places
    assert all(place.startswith(("other/", "project/")) for place in places)


def test_a_command_uses_an_index_and_says_so_if_it_cannot(published: Path, user: User, tmp_path: Path) -> None:
    clone = _project(tmp_path / "clone")
    away = tmp_path / "away"
    asked = ("spans", QUESTION.text, "-w", str(clone), "--drafter", "smollm2-135m", "--budget", "400", "--set")
    there, gone = (user.run(*asked, f"index.shared={place}") for place in (published, away))
    assert there.returncode == gone.returncode == 0
    assert f"the shared index {away} is not used: winnow-index.json cannot be read" in gone.stderr
    assert "shared index" not in there.stderr

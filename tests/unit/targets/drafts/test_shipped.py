"""Drafts that ship are whole, and are put together for their target once."""

import hashlib
import json
import os
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from winnow_engine.config import TargetOptions
from winnow_engine.core import Sampling
from winnow_engine.encoder.weights import GgufTensors
from winnow_engine.models.gguf_header import read_header
from winnow_engine.models.registry import MODELS, find, weight_folders
from winnow_engine.targets.base import Request
from winnow_engine.targets.drafts import shipped
from winnow_engine.targets.drafts.shipped import draft_of, put_together
from winnow_engine.targets.local.chat_template import LocalPrompt
from winnow_engine.targets.local.target import LlamaTarget
from winnow_research.training.draft.export import ship

from .block_files import write_block
from .test_block import prompt


@pytest.fixture
def folder(tmp_path: Path, tiny_qwen3: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What ships of a draft, for the tiny target as a model of the registry."""
    model = replace(MODELS[0], name="tiny", file=tiny_qwen3.name, bytes=tiny_qwen3.stat().st_size)
    ship(write_block(tmp_path / "trained.gguf"), tmp_path / "shipped" / "tiny")
    monkeypatch.setattr(shipped, "MODELS", (model,))
    monkeypatch.setattr(shipped, "weight_folders", lambda kind: (tmp_path / "shipped" / "tiny",))
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "shipped" / "tiny"


def test_every_draft_that_ships_is_whole() -> None:
    folders = weight_folders("draft")
    assert folders
    for one in folders:
        assert find(one.name).file
        digest = hashlib.sha256((one / shipped.FILE).read_bytes()).hexdigest()
        assert json.loads((one / shipped.ABOUT).read_text("utf-8")) == {"sha256": digest}
        assert digest in (one / "card.md").read_text("utf-8")


def test_what_ships_gives_the_draft_back(folder: Path, tiny_qwen3: Path, tmp_path: Path) -> None:
    trained, made = tmp_path / "trained.gguf", tmp_path / "made.gguf"
    put_together(folder / shipped.FILE, tiny_qwen3, made)
    before, after = (GgufTensors(path, read_header(path)) for path in (trained, made))
    for name in read_header(trained).tensors:
        if name == "token_embd.weight":
            lent = GgufTensors(tiny_qwen3, read_header(tiny_qwen3))
            head = "output.weight" if "output.weight" in lent else name
            np.testing.assert_array_equal(after.read(name), lent.read(head)[0:256:2])
        else:
            np.testing.assert_allclose(after.read(name), before.read(name), atol=0.02)
    tables, wanted = (load_file(path.with_suffix(".safetensors")) for path in (made, trained))
    for name, values in wanted.items():
        np.testing.assert_allclose(tables[name], values, atol=0.02)
    assert read_header(made).values.keys() >= read_header(trained).values.keys()


@pytest.mark.usefixtures("exact")
def test_auto_asks_what_ships(folder: Path, tiny_qwen3: Path) -> None:
    request = Request(LocalPrompt(prompt(1)), Sampling(max_tokens=24))
    texts = []
    for how in ("off", "auto"):
        with closing(LlamaTarget.open(tiny_qwen3, TargetOptions(n_threads=1, speculate=how))) as opened:
            texts.append(opened.generate(request).text)
    assert texts[0] == texts[1]
    assert [path.suffix for path in sorted((folder.parents[1] / "cache" / "drafts").iterdir())] == [
        ".gguf",
        ".safetensors",
    ]


def test_those_of_other_versions_go_but_for_the_last(folder: Path, tiny_qwen3: Path) -> None:
    about, made = json.loads((folder / shipped.ABOUT).read_text()), []
    for age, first in ((300, "0"), (200, "1"), (100, "2")):
        (folder / shipped.ABOUT).write_text(json.dumps({"sha256": first + about["sha256"][1:]}))
        made.append(draft_of(tiny_qwen3))
        assert made[-1] is not None
        os.utime(made[-1], (time.time() - age,) * 2)
    left = {path.name for path in made[0].parent.iterdir()}  # type: ignore[union-attr]
    assert left == {name for path in made[1:] if path for name in (path.name, path.with_suffix(".safetensors").name)}


@pytest.mark.parametrize("suffix", [".gguf", ".safetensors"])
@pytest.mark.usefixtures("folder")
def test_one_damaged_in_the_cache_is_made_anew(tiny_qwen3: Path, suffix: str, caplog: pytest.LogCaptureFixture) -> None:
    made = draft_of(tiny_qwen3)
    assert made is not None
    whole = made.with_suffix(suffix).read_bytes()
    made.with_suffix(suffix).write_bytes(whole[: len(whole) // 2])
    for told in (True, False):
        caplog.clear()
        LlamaTarget.open(tiny_qwen3, TargetOptions(n_threads=1)).close()
        assert ("the target's draft is not used" in caplog.text) == told
    assert made.with_suffix(suffix).read_bytes() == whole


@pytest.mark.parametrize("how", ["cut", "another file", "no tables"])
def test_what_ships_damaged_is_done_without(
    folder: Path, tiny_qwen3: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    file = folder / shipped.FILE
    if how == "cut":
        file.write_bytes(file.read_bytes()[:-50])
    elif how == "another file":
        save_file({"x": np.zeros(3, np.float32)}, file)
    else:
        about = {"shape": {"layers_read": [1], "surprise": 1}, "types": {}}
        save_file({"x": np.zeros(3, np.float32)}, file, {shipped.METADATA: json.dumps(about)})
    assert draft_of(tiny_qwen3) is None
    assert f"the draft of {tiny_qwen3.name} is not used" in caplog.text
    assert not list((folder.parents[1] / "cache" / "drafts").iterdir())


@pytest.mark.usefixtures("folder")
def test_no_room_in_the_cache_is_told(tiny_qwen3: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    assert draft_of(tiny_qwen3) is None
    assert "is not used" in caplog.text

"""The reranker of a drafter's profile: if it cannot be used, a notice says why, and the drafter works."""

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from random_models import write_model, write_reranker

from winnow_engine.core import Cancellation
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.models import registry
from winnow_engine.models.registry import ModelRole, RegisteredModel
from winnow_engine.reranker.background import open_reranker
from winnow_research.calibration.profile_writing import fingerprint_of, write_profile

HEADS = [{"layer": 0, "head": 1, "feature": "all", "weight": 1.0}]
USE = {"file": "reranker.safetensors", "model": "larger", "weight": 1.0, "tokens": 16000}


@dataclass(frozen=True)
class Files:
    """A drafter, the registered model whose layers its reranker has, and the reranker."""

    drafter: Path
    model: Path
    reranker: Path


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    for variable in ("CACHE", "MODELS"):
        monkeypatch.setenv(f"WINNOW_{variable}_DIR", str(tmp_path / variable.lower()))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(Drafter, "place", "resident")
    (tmp_path / "models").mkdir()
    drafter, model = (write_model(tmp_path / "models" / name) for name in ("drafter.gguf", "larger.gguf"))
    size = model.stat().st_size
    larger = RegisteredModel(
        name="larger", file=model.name, bytes=size, sha256="", sources=(), roles=(ModelRole.TARGET,), licence=""
    )
    monkeypatch.setattr(registry, "MODELS", (larger,))
    folder = tmp_path / "winnow" / "profiles" / "own"
    write_profile(folder, fingerprint_of(drafter), {}, HEADS)
    document = json.loads((folder / "profile.json").read_text())
    (folder / "profile.json").write_text(json.dumps({**document, "reranker": USE}))
    return Files(drafter, model, write_reranker(folder / "reranker.safetensors", model, 2))


def test_a_reranker_of_a_registered_model_is_used(files: Files) -> None:
    drafter = Drafter(files.drafter)
    reranker = open_reranker(drafter)
    assert drafter.notice is None
    assert reranker is not None
    assert reranker.begin().settle() is not None


def other(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        assert old in content
        return content.replace(old, new, 1)

    return change


def halved(content: bytes) -> bytes:
    return content[: len(content) // 2]


SHAPE = struct.Struct("<IQQ")
PULL = "run `winnow models pull larger`"


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (halved, "bytes instead of"),
        (other(b"GGUF\3", b"\0\0\0\0\0"), f"larger.gguf is damaged in its header; {PULL}"),
        (other(b"GGUF\3", b"GGUF\7"), f"larger.gguf is damaged in its header; {PULL}"),
        (other(b".block_count", b".block_Count"), f"larger.gguf is damaged in its header; {PULL}"),
        (lambda content: content[:600] + bytes(len(content) - 600), f"damaged in its header; {PULL}"),
        (other(b".feed_forward_l", b".feed_forward_L"), "lacks 'llama.feed_forward_length'; get it again"),
        (
            other(b".head_count" + struct.pack("<II", 4, 2), b".head_count" + struct.pack("<II", 4, 0)),
            "lacks attention heads; get it again",
        ),
        (other(b"blk.1.attn_k", b"blk.1.attn_K"), "blk.1.attn_k.weight does not fit the drafter"),
        (other(b"token_embd", b"token_embD"), "has another vocabulary than the drafter"),
        (
            other(b"token_embd.weight" + SHAPE.pack(2, 128, 512), b"token_embd.weight" + SHAPE.pack(2, 128, 511)),
            "has another vocabulary than the drafter",
        ),
    ],
)
def test_a_reranker_with_a_damaged_model_is_left_out(damage: Callable[[bytes], bytes], said: str, files: Files) -> None:
    files.model.write_bytes(damage(files.model.read_bytes()))
    check_left_out(files, said)


@pytest.mark.parametrize("damage", [halved, lambda content: b"", lambda content: bytes(len(content))])
def test_a_reranker_that_is_damaged_is_left_out(damage: Callable[[bytes], bytes], files: Files) -> None:
    files.reranker.write_bytes(damage(files.reranker.read_bytes()))
    check_left_out(files, "copy it there again, or take the reranker out of the profile.json beside it")


def check_left_out(files: Files, said: str) -> None:
    """A notice says so, and the drafter scores nevertheless."""
    drafter = Drafter(files.drafter)
    assert open_reranker(drafter) is None
    assert drafter.notice is not None
    assert drafter.notice.startswith("the reranker is not used: ")
    assert said in drafter.notice
    (asked,) = drafter.states_of(["what happens"], None, Cancellation())
    assert np.isfinite(asked.encoded.hidden).all()

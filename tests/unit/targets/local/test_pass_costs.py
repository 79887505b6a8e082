"""What passes cost is measured once, kept, and taught to drafts; the memory holds the same as before."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from winnow_engine.config import TargetOptions
from winnow_engine.core import Sampling
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.context import LlamaContext
from winnow_engine.llama.kv_cache import KvCache
from winnow_engine.llama.model import LlamaModel
from winnow_engine.targets.base import Request
from winnow_engine.targets.drafts.control.adaptive import AdaptiveDraft
from winnow_engine.targets.local.pass_costs import measured
from winnow_engine.targets.local.session import Session
from winnow_engine.targets.snapshots.writer import SnapshotWriter
from winnow_engine.targets.throughput import PrefillThroughput

PROMPT = np.tile(np.arange(40, 240, dtype=np.int32), 2)
OPTIONS = TargetOptions(n_threads=1, n_ubatch=32)


@pytest.fixture
def taught(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Mapping[int, float]]:
    """What drafts are taught, with a cache folder of its own."""
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path))
    found: list[Mapping[int, float]] = []
    monkeypatch.setattr(AdaptiveDraft, "know", lambda self, costs: found.append(costs))
    return found


def answered(model: Path, options: TargetOptions = OPTIONS, abort: AbortFlag | None = None) -> str:
    with closing(Session(model, options, SnapshotWriter(), PrefillThroughput())) as session:
        request = Request(PROMPT, Sampling(max_tokens=8))
        return session.generate(request, abort or AbortFlag(), started=0.0).text


def kept(folder: Path) -> list[Path]:
    return list((folder / "passes").glob("*"))


def test_the_first_answer_teaches_those_after_it(
    tiny_llama: Path, taught: list[Mapping[int, float]], tmp_path: Path
) -> None:
    first = answered(tiny_llama)
    assert set(taught[0]) == {1, 3, 7, 15}
    assert min(taught[0].values()) >= 1
    assert answered(tiny_llama) == first
    assert taught[1] == pytest.approx(taught[0])
    assert len(taught) == 2
    assert len(kept(tmp_path)) == 1


def test_threads_have_costs_of_their_own(tiny_llama: Path, taught: list[Mapping[int, float]], tmp_path: Path) -> None:
    answered(tiny_llama)
    answered(tiny_llama, TargetOptions(n_threads=2, n_ubatch=32))
    assert len(kept(tmp_path)) == 2


@pytest.mark.parametrize("damage", [b"", b"x" * 400])
def test_a_damaged_file_is_replaced(
    tiny_llama: Path, taught: list[Mapping[int, float]], tmp_path: Path, damage: bytes
) -> None:
    answered(tiny_llama)
    kept(tmp_path)[0].write_bytes(damage)
    answered(tiny_llama)
    answered(tiny_llama)
    assert len(taught) == 3
    assert taught[2] == pytest.approx(taught[1])


def test_a_folder_that_cannot_be_written_costs_only_the_next_measurement(
    tiny_llama: Path, taught: list[Mapping[int, float]], tmp_path: Path
) -> None:
    (tmp_path / "passes").write_text("a file")
    assert answered(tiny_llama) == answered(tiny_llama)
    assert len(taught) == 2


def test_a_cancelled_answer_measures_nothing(
    tiny_llama: Path, taught: list[Mapping[int, float]], tmp_path: Path
) -> None:
    abort = AbortFlag()
    abort.set()
    answered(tiny_llama, abort=abort)
    assert not taught
    assert not kept(tmp_path)


@pytest.mark.parametrize("speculate", ["off", "lookup"])
def test_what_does_not_adapt_needs_no_costs(
    tiny_llama: Path, taught: list[Mapping[int, float]], tmp_path: Path, speculate: str
) -> None:
    answered(tiny_llama, TargetOptions(n_threads=1, n_ubatch=32, speculate=speculate))
    assert not kept(tmp_path)


def test_a_model_with_states_is_not_measured(
    tiny_qwen35: Path, taught: list[Mapping[int, float]], tmp_path: Path
) -> None:
    answered(tiny_qwen35)
    assert not kept(tmp_path)


@pytest.mark.parametrize(("held", "sizes"), [(400, {1, 3, 7, 15}), (500, {1, 3, 7}), (511, set())])
def test_the_memory_holds_the_same_afterwards(tiny_llama: Path, held: int, sizes: set[int]) -> None:
    with closing(LlamaModel(tiny_llama)) as model, closing(LlamaContext(model, 512, OPTIONS, 16)) as context:
        cache = KvCache(context)
        prompt = np.resize(PROMPT, held)
        cache.prefill(prompt)
        assert set(measured(cache)) == sizes
        assert np.array_equal(cache.tokens, prompt)
        cache.rewind(held - 1)
        cache.extend(prompt[-1:], want_logits=True)
        again = context.logits().copy()
        cache.rewind(0)
        cache.prefill(prompt)
        np.testing.assert_allclose(again, context.logits(), atol=1e-4)

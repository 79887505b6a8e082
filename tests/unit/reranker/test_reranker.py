"""A reranker of random weights on a tiny model: what it is shown, what comes of it, and which files are refused."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_models import WIDTH, reranker_tensors, write_model, write_reranker
from simulated_device import SimulatedDevice
from twins import standardise_numpy

from winnow_cuda.cpu import encoder
from winnow_cuda.cpu.encoder import CpuEncoder
from winnow_cuda.gpu.encoder import GpuEncoder
from winnow_cuda.shapes import Batch, KeyHead, PackedMatrix
from winnow_engine.core import Cancellation
from winnow_engine.encoder.low_rank import Tensors
from winnow_engine.encoder.weights import load_weights
from winnow_engine.errors import CancelledError, ProfileError
from winnow_engine.models.gguf_header import read_header
from winnow_engine.reranker.file import RerankerHead, read_reranker
from winnow_engine.reranker.layout import UnitText, segments_of
from winnow_engine.reranker.reranker import Reranker, load_reranker
from winnow_research.calibration.profile_writing import write_tensors

PREFIX = np.array([1, 2, 3], np.int32)
QUESTION = np.arange(70, 90, dtype=np.int32)
SEGMENT_TOKENS = 256  # fewer than there are, and so more segments


def ids(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def units(count: int = 9, tokens: int = 60) -> list[UnitText]:
    random = np.random.default_rng(4)
    return [
        UnitText(n // 3, ids(9, 50 + n // 3), random.integers(0, 256, tokens + n).astype(np.int32))
        for n in range(count)
    ]


@pytest.fixture(scope="module")
def drafter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny.gguf")


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder of their own for these tests, for the merged weights."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WINNOW_CACHE_DIR", str(folder))
        patch.setattr("winnow_engine.reranker.reranker.SEGMENT_TOKENS", SEGMENT_TOKENS)
        # As on a GPU. Packed weights are an approximation.
        patch.setattr("winnow_engine.reranker.reranker.bare_matrix_form", lambda: "float32")
        yield folder


@pytest.fixture(scope="module")
def reranker(drafter: Path, cache: Path) -> Reranker:
    return opened(drafter, write_reranker(cache / "reranker.safetensors", drafter, 4))


def opened(drafter: Path, file: Path) -> Reranker:
    return load_reranker(drafter, read_reranker(file, read_header(drafter)), PREFIX)


def test_the_time_of_reading_grows_with_what_is_read(reranker: Reranker, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    def scores(self: Reranker, segments: list[Any], cancellation: Cancellation) -> np.ndarray:
        read.append(sum(map(len, segments)))
        return whole(self, segments, cancellation)

    whole = Reranker.scores
    monkeypatch.setattr(Reranker, "scores", scores)
    assert reranker.seconds(100) > 0
    assert reranker.seconds(SEGMENT_TOKENS + 1) > 0
    assert read == [SEGMENT_TOKENS] * 3 + [2 * SEGMENT_TOKENS] * 3


@pytest.mark.parametrize("form", ["float16", "packed"])
def test_merged_matrices_are_kept_in_the_form_that_is_wanted(drafter: Path, form: Any) -> None:
    header = read_header(drafter)
    exact, other = (load_weights(drafter, header, 2, form=one).layers[1] for one in ("float32", form))
    assert exact.qkv.dtype == other.attn_norm.dtype == np.float32  # type: ignore[union-attr]
    if form == "packed":
        assert isinstance(other.qkv, PackedMatrix)
    else:
        np.testing.assert_array_equal(other.qkv, exact.qkv.astype(np.float16))  # type: ignore[union-attr, arg-type]
        np.testing.assert_array_equal(other.ffn_norm, exact.ffn_norm)


def test_each_segment_begins_with_the_question_and_names_a_file_once() -> None:
    files = [(0, ids(9, 1)), (0, ids(9, 1)), (1, ids(9, 2))]
    codes = [ids(20, 21), ids(22, 24, 25, 26, 27), ids(23)]
    texts = [UnitText(*file, code) for file, code in zip(files, codes, strict=True)]
    first, second = segments_of(ids(0), ids(5, 6), texts, ids(9), 16)
    assert first.ids.tolist() == [0, 5, 6, 9, 1, 20, 21, 9, 22, 24, 25, 26, 9]  # of a unit at most a quarter
    assert second.ids.tolist() == [0, 5, 6, 9, 2, 23, 9]
    assert (first.units.tolist(), second.units.tolist()) == ([0, 1], [2])
    assert [first.ids[a:b].tolist() for a, b in zip(first.starts, first.stops, strict=True)] == [
        [20, 21, 9],
        [22, 24, 25, 26, 9],
    ]


def read_by(head: KeyHead, hidden: np.ndarray) -> np.ndarray:
    return np.asarray(standardise_numpy(hidden, head.mean, head.deviation) @ head.matrix.T, np.float32)


def test_the_head_is_its_formula() -> None:
    random = np.random.default_rng(0)
    hidden = random.normal(0, 3, (40, 8)).astype(np.float32)
    mu, sd = random.normal(0, 1, 8).astype(np.float32), random.uniform(0.5, 2, 8).astype(np.float32)
    votes, starts, stops = random.normal(0, 1, (3, 8)).astype(np.float32), np.array([3, 4, 20]), np.array([4, 17, 40])
    head = RerankerHead(votes, ids(2).astype(np.float32), mu, sd)
    found = head.scores(read_by(head.rows, hidden), starts, stops)
    wanted = []
    for start, stop in zip(starts, stops, strict=True):
        rows = [(x / math.sqrt((x @ x) / 8 + 1e-6) - mu) / sd for x in hidden[start:stop].astype(float)]
        shares = [math.log1p(math.exp(votes[1] @ x)) for x in rows]
        pooled = sum(share * (votes[0] @ x) for share, x in zip(shares, rows, strict=True)) / sum(shares)
        wanted.append(pooled + votes[2] @ rows[-1] + 2 * math.log((stop - start) / 100))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    assert found.dtype == np.float32


def test_scores_are_those_of_the_layers_with_the_updates(drafter: Path, cache: Path, reranker: Reranker) -> None:
    tensors = reranker_tensors(drafter, 4)

    def merge(name: str, value: np.ndarray) -> np.ndarray:
        a, b = (tensors[f"{name.replace('blk', 'lora').removesuffix('.weight')}.{part}"] for part in "ab")
        return value + 2 * b.astype(np.float16).astype(np.float32) @ a.astype(np.float16).astype(np.float32)

    layers = CpuEncoder(load_weights(drafter, read_header(drafter), 4, merge), np.empty(0, np.int32))
    segments, head = (
        reranker.segments(QUESTION, units()),
        read_reranker(cache / "reranker.safetensors", read_header(drafter)).head,
    )
    assert len(segments) == 3
    wanted = []
    for one in segments:
        batch = Batch(one.ids, np.arange(len(one), dtype=np.int32), np.array([0, len(one)]))
        wanted.append(head.scores(read_by(head.rows, layers.encode(batch).hidden), one.starts, one.stops))
    found = reranker.scores(segments, Cancellation())
    np.testing.assert_allclose(found, np.concatenate(wanted), rtol=1e-4, atol=1e-4)
    assert np.std(found) > 0.1


def test_a_segment_scores_the_same_beside_any_other(reranker: Reranker, monkeypatch: pytest.MonkeyPatch) -> None:
    segments = reranker.segments(QUESTION, units())
    alone = np.concatenate([reranker.scores([one], Cancellation()) for one in segments])
    monkeypatch.setattr(reranker._encoder, "batch_tokens", 1 << 20, raising=False)
    np.testing.assert_allclose(reranker.scores(segments, Cancellation()), alone, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("capability", [(8, 6), (9, 0)])
def test_a_gpu_scores_segments_in_one_batch_nearly_as_the_cpu(
    capability: tuple[int, int], drafter: Path, cache: Path, reranker: Reranker
) -> None:
    file = read_reranker(cache / "reranker.safetensors", read_header(drafter))
    weights = replace(load_weights(drafter, read_header(drafter), 4, file.updates.merged), rows=file.head.rows)
    on_gpu = Reranker(GpuEncoder(SimulatedDevice(capability), weights, np.empty(0, np.int32)), file.head, PREFIX)
    segments = list(segments_of(PREFIX, QUESTION, units(4, tokens=20), ids(9), 80))
    assert len(segments) == 2
    exact = reranker.scores(segments, Cancellation())
    np.testing.assert_allclose(on_gpu.scores(segments, Cancellation()), exact, atol=0.03 * exact.std())


def test_it_stops_between_layers(reranker: Reranker, monkeypatch: pytest.MonkeyPatch) -> None:
    cancellation, multiplied = Cancellation(), []
    multiply = encoder._product

    def product(*given: Any) -> np.ndarray:
        multiplied.append(None)
        if len(multiplied) == 2:
            cancellation.cancel()
        return multiply(*given)

    monkeypatch.setattr(encoder, "_product", product)
    with pytest.raises(CancelledError):
        reranker.scores(reranker.segments(QUESTION, units()), cancellation)
    assert len(multiplied) < 10  # of a layer


def test_merged_weights_are_mapped_the_next_time(
    drafter: Path, cache: Path, reranker: Reranker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow_engine.encoder.weights._layer", None)  # nothing is left to compute them
    again = opened(drafter, cache / "reranker.safetensors")
    segments = reranker.segments(QUESTION, units(2))
    assert again.scores(segments, Cancellation()).tolist() == reranker.scores(segments, Cancellation()).tolist()


def broken(change: Callable[[Tensors], object]) -> Callable[[Path, Path], None]:
    def write(path: Path, drafter: Path) -> None:
        tensors = reranker_tensors(drafter, 4)
        change(tensors)
        write_tensors(path, tensors, 2.0)

    return write


def halved(path: Path, drafter: Path) -> None:
    data = write_reranker(path, drafter, 4).read_bytes()
    path.write_bytes(data[: len(data) // 2])


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda path, drafter: None, "is not a reranker"),
        (halved, "is not a reranker"),
        (lambda path, drafter: path.write_text("{}"), "is not a reranker"),
        (broken(lambda t: t.pop("head.votes")), "is not a reranker: 'head.votes'"),
        (broken(lambda t: [t.pop(name) for name in list(t) if name.startswith("lora")]), "is not a reranker"),
        (broken(lambda t: t.update({"head.votes": t["head.votes"][:2]})), "head have the wrong shapes"),
        (broken(lambda t: t.update({"head.sd": np.zeros(WIDTH, np.float32)})), "not above 0"),
        (broken(lambda t: t["lora.1.ffn_up.a"].fill(np.nan)), "lora.1.ffn_up.a is not finite"),
        (broken(lambda t: t["head.mu"].fill(1e6)), "head.mu is not finite"),  # in float16
        (broken(lambda t: t.pop("lora.2.attn_k.b")), "'lora.2.attn_k.b'"),
        (broken(lambda t: t.update({"lora.0.attn_q.a": t["lora.0.attn_q.a"][:, 1:]})), "does not fit the drafter"),
        (broken(lambda t: t.update({"lora.0.attn_q.a": t["lora.0.attn_q.a"][1:]})), "does not fit the drafter"),
        (
            broken(lambda t: t.update({f"head.{n}": t[f"head.{n}"][..., 1:] for n in ("votes", "mu", "sd")})),
            f"belongs to a drafter with {WIDTH - 1} columns, this one has {WIDTH}",
        ),
        (
            broken(lambda t: t.update({n.replace("lora.3", "lora.4"): v for n, v in t.items() if "lora.3" in n})),
            "wants 5 layers, the drafter has 4",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_a_file_that_is_no_reranker_of_this_drafter_is_an_error_with_a_name(
    write: Callable[[Path, Path], None], said: str, drafter: Path, tmp_path: Path
) -> None:
    write(tmp_path / "bad.safetensors", drafter)
    with pytest.raises(ProfileError, match=said):
        read_reranker(tmp_path / "bad.safetensors", read_header(drafter))

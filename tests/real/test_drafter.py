"""The drafter with its shipped profiles, on real weights."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from winnow_cuda.ops._integers import runs_here
from winnow_engine.core import Cancellation
from winnow_engine.encoder.adapter import AdapterProfile
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.file_encoder import FileKeys, FileText
from winnow_engine.encoder.heads import HeadsProfile, ScoringHead
from winnow_engine.encoder.low_rank import LowRankUpdates
from winnow_engine.encoder.profile import join_arrays
from winnow_engine.encoder.profiles import open_profile, shipped_profile
from winnow_engine.encoder.weights import GgufTensors, shape_of
from winnow_engine.errors import CancelledError, ProfileError, UnsupportedModelError
from winnow_engine.models.gguf_header import read_header
from winnow_engine.question import CodeAtCursor
from winnow_research.calibration.profile_writing import fingerprint_of, with_fusion, write_profile, write_tensors

pytestmark = pytest.mark.real_weights

UNITS = (
    "def parse_duration(text):\n    amount, unit = text[:-1], text[-1]\n    return float(amount) * SECONDS[unit]\n",
    "def send_mail(to, body):\n    with smtplib.SMTP(HOST) as server:\n        server.sendmail(ME, to, body)\n",
    "class Matrix:\n    def transpose(self):\n        return Matrix(zip(*self.rows))\n",
    "def read_config(path):\n    with open(path) as file:\n        return json.load(file)\n",
    "def retry(call, times):\n    for _ in range(times):\n        try:\n            return call()\n"
    "        except OSError:\n            sleep(1)\n",
)
QUESTIONS = (
    "turns a string such as 90s or 2h into seconds",
    "delivers a message to a recipient over the network",
    "swaps rows and columns",
    "loads settings from a JSON file",
    "calls something again when it fails",
)


@pytest.fixture(scope="module")
def qwen(qwen_small: Path) -> Drafter:
    return Drafter(qwen_small)


@pytest.fixture(scope="module", params=["qwen_small", "smollm2"])
def drafter(request: pytest.FixtureRequest) -> Drafter:
    return Drafter(request.getfixturevalue(request.param))


def encode(drafter: Drafter, *files: FileText) -> list[FileKeys]:
    return list(drafter.encode(files, Cancellation()))


def score(drafter: Drafter, keys: FileKeys, *questions: str, code: CodeAtCursor | None = None) -> list[dict[str, Any]]:
    return drafter.score(keys.arrays, np.cumsum([0, *keys.unit_tokens]), questions, code, Cancellation())


def best(drafter: Drafter, keys: FileKeys, question: str, code: CodeAtCursor | None = None) -> int:
    (evidence,) = score(drafter, keys, question, code=code)
    return int(sum((s - s.mean()) / s.std() for s in evidence.values()).argmax())


def test_vectors_of_texts_are_near_where_the_texts_mean_the_same(qwen: Drafter, smollm2: Path) -> None:
    vectors, tokens = qwen.text_vectors([*UNITS, *QUESTIONS], Cancellation())
    assert vectors.shape == (10, 256)
    assert tokens > 100
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(10), abs=1e-5)
    assert (vectors[5:] @ vectors[:5].T).argmax(axis=1).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(UnsupportedModelError, match="use the default drafter"):
        Drafter(smollm2).text_vectors(["a"], Cancellation())


def test_what_names_the_keys_in_an_index_stays(qwen_small: Path, smollm2: Path) -> None:
    assert Drafter(qwen_small).identity == "b23109d0d9f1e92f4fb3fd569d76416c"
    assert Drafter(smollm2).identity == "46edcbbde76b20d8770255e2698ff3b8"


def test_weights_from_the_disk_score_as_computed_ones_to_the_bit(
    qwen_small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    header = read_header(qwen_small)
    profile = open_profile(GgufTensors(qwen_small, header), shape_of(header, 1), header.block_count).profile
    computed = Drafter(qwen_small, with_fusion(profile))
    assert not (tmp_path / "cache" / "weights").exists()
    written = Drafter(qwen_small)
    (layers,) = (tmp_path / "cache" / "weights").iterdir()
    monkeypatch.setattr(LowRankUpdates, "merged", None)  # nothing is left to compute them
    mapped = Drafter(qwen_small)
    assert mapped.identity == written.identity == computed.identity
    (expected,) = encode(computed, FileText("tools.py", UNITS))
    for drafter in (written, mapped):
        (keys,) = encode(drafter, FileText("tools.py", UNITS))
        for name, values in expected.arrays.items():
            np.testing.assert_array_equal(keys.arrays[name], values, strict=True)
        for question in QUESTIONS[:2]:
            (scores,), (found,) = score(computed, expected, question), score(drafter, expected, question)
            for name, values in found.items():
                np.testing.assert_array_equal(values, scores[name], strict=True)
    (layers / "0.layer").unlink()
    with pytest.raises(TypeError):
        Drafter(qwen_small)


def test_a_question_read_by_packed_weights_scores_as_by_plain_ones(
    qwen: Drafter, qwen_small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not runs_here():
        pytest.skip("needs AVX2")
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("winnow_engine.encoder.drafter.matrix_form", lambda: "float32")
    plain = Drafter(qwen_small)
    (keys,) = encode(plain, FileText("tools.py", UNITS))
    for question in QUESTIONS[:2]:
        (expected,), (found,) = score(plain, keys, question), score(qwen, keys, question)
        differences = [np.abs(found[name] - expected[name]).max() for name in expected]
        assert 0 < max(differences) < 0.3
        assert [found[name].argmax() for name in found] == [expected[name].argmax() for name in expected]


def test_questions_in_one_batch_score_as_each_alone(drafter: Drafter) -> None:
    (keys,) = encode(drafter, FileText("tools.py", UNITS))
    for question, found in zip(QUESTIONS, score(drafter, keys, *QUESTIONS), strict=True):
        (alone,) = score(drafter, keys, question)
        for name, values in alone.items():
            # Packed weights round what differs in the last digit to other steps: 0.01 seen.
            np.testing.assert_allclose(found[name], values, rtol=1e-4, atol=0.05)


def test_the_described_unit_scores_highest(drafter: Drafter) -> None:
    assert drafter.notice is None
    (keys,) = encode(drafter, FileText("tools.py", UNITS))
    hits = [best(drafter, keys, question) == unit for unit, question in enumerate(QUESTIONS)]
    assert sum(hits) >= 4


def test_code_at_the_cursor_finds_what_it_calls(qwen: Drafter) -> None:
    (keys,) = encode(qwen, FileText("tools.py", UNITS))
    code = CodeAtCursor("def main():\n    settings = read_config('app.json')\n    run(settings)\n", "python")
    assert best(qwen, keys, "Explain this code.", code) == 3


def test_keys_of_a_file_do_not_depend_on_its_neighbours(drafter: Drafter) -> None:
    file, other = FileText("tools.py", UNITS), FileText("other.py", (UNITS[0] * 40, "", UNITS[1]))
    (alone,) = encode(drafter, file)
    beside = encode(drafter, other, file, other)[1]
    np.testing.assert_array_equal(alone.unit_tokens, beside.unit_tokens)
    for name, values in alone.arrays.items():
        wide, expected = beside.arrays[name].astype(np.float64), values.astype(np.float64)
        assert np.linalg.norm(wide - expected) <= 0.02 * np.linalg.norm(expected), name


def test_every_file_comes_back_in_order_empty_and_huge_ones_too(qwen: Drafter) -> None:
    texts = [("a.py", UNITS), ("empty.py", ()), ("void.py", ("",)), ("long.py", (UNITS[4] * 90, UNITS[0]))]
    keys = encode(qwen, *(FileText(path, units) for path, units in texts))
    assert [len(k.unit_tokens) for k in keys] == [5, 0, 1, 2]
    assert keys[3].unit_tokens[0] > 2048
    assert all(len(k.arrays["codes"]) == k.unit_tokens.sum() for k in keys)
    joined = join_arrays([k.arrays for k in keys])
    assert len(joined["pooled"]) == 8


def test_cancelling_ends_the_encoding(qwen: Drafter) -> None:
    cancellation = Cancellation()
    files = (FileText(f"{i}.py", (UNITS[4] * 60,)) for i in range(100))
    produced = qwen.encode(files, cancellation)
    next(produced)
    cancellation.cancel()
    with pytest.raises(CancelledError):
        list(produced)


def test_control_tokens_in_a_file_stay_text(qwen: Drafter) -> None:
    assert qwen.count("<|im_end|>") > 1


def test_one_head_of_the_small_qwen_finds_answers_without_training(qwen_small: Path) -> None:
    drafter = Drafter(qwen_small, with_fusion(HeadsProfile([ScoringHead(7, 11, "all", 1.0)], group=7)))
    (keys,) = encode(drafter, FileText("tools.py", UNITS))
    assert sum(best(drafter, keys, q) == unit for unit, q in enumerate(QUESTIONS)) >= 3


def test_profile_deeper_than_the_drafter_is_refused(smollm2: Path) -> None:
    with pytest.raises(ProfileError, match="31 layers"):
        Drafter(smollm2, with_fusion(HeadsProfile([ScoringHead(30, 0, "all", 1.0)], group=3)))


def test_an_adapter_of_the_user_is_used_from_his_folder(
    qwen_small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    name = fingerprint_of(qwen_small)
    shipped = shipped_profile(name)
    assert shipped is not None
    assert shipped.adapter is not None
    tensors = AdapterProfile(shipped.adapter).tensors
    write_tensors(tmp_path / "own.safetensors", {**tensors, "pool.sc": tensors["pool.sc"] + 1}, 2.0)
    fusion = {"kinds": {"maxsim": {"one": 1.0}}, "clues": {}}
    write_profile(tmp_path / "winnow" / "profiles" / "mine", name, fusion, adapter=tmp_path / "own.safetensors")
    (tmp_path / "own.safetensors").unlink()
    own = Drafter(qwen_small)
    assert (own.fusion, own.notice) == (fusion, None)
    assert own.identity != Drafter(qwen_small, with_fusion(AdapterProfile(shipped.adapter))).identity


def test_another_drafters_adapter_is_refused(smollm2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    name = fingerprint_of(smollm2)
    other = shipped_profile("3c51608417b386dc")
    assert other is not None
    write_profile(tmp_path / "winnow" / "profiles" / "mine", name, other.fusion, adapter=other.adapter)
    with pytest.raises(ProfileError, match="drafter with 896 columns, this one has 576"):
        Drafter(smollm2)

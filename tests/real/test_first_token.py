"""`winnow bench ttft` on real weights: stages add up, and each state does the work that it stands for."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.real_weights

MODELS = ("--target", "smollm2-135m", "--drafter", "smollm2-135m")
SMALL = ("--contexts", "1300", "--repetitions", "1", "--vanilla-seconds", "0")


@pytest.fixture(scope="module")
def measured(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """The document of one run, and the folder with what it wrote."""
    folder = tmp_path_factory.mktemp("ttft")
    options = ("--out", str(folder / "ttft.json"), "--json")
    command = [sys.executable, "-m", "winnow_lsp", "bench", "ttft", *MODELS, *SMALL, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), folder


def test_the_document_is_also_written(measured: tuple[dict[str, Any], Path]) -> None:
    document, folder = measured
    assert json.loads((folder / "ttft.json").read_text()) == document
    (found,) = document["contexts"]
    assert set(found) >= {"vanilla", "winnow"}
    assert 1150 < found["tokens"] <= 1300


def test_vanilla_reads_everything(measured: tuple[dict[str, Any], Path]) -> None:
    found = measured[0]["contexts"][0]
    assert found["vanilla"]["prompt_tokens"] > found["tokens"]
    assert list(found["vanilla"]["tried"]) == ["ubatch 2048, f16"]
    assert found["vanilla"]["memory"]["host_bytes"] >= found["vanilla"]["memory"]["host_anonymous_bytes"] > 1e7


@pytest.mark.parametrize("budget", ["2600", "auto"])
def test_each_state_encodes_what_is_new_to_it(measured: tuple[dict[str, Any], Path], budget: str) -> None:
    found = measured[0]["contexts"][0]
    states = found["winnow"][budget]
    for state in ("cold", "warm", "edited", "follow-up"):
        assert sum(states[state]["stages_s"].values()) == pytest.approx(states[state]["median_s"], abs=0.002)
        assert states[state]["stages_s"]["rest"] >= -0.001
    cold, warm, edited, follow_up = (states[one] for one in ("cold", "warm", "edited", "follow-up"))
    assert cold["encoded_tokens"] == pytest.approx(found["tokens"], rel=0.1)
    assert warm["encoded_tokens"] == follow_up["encoded_tokens"] == 0
    assert 0 < edited["encoded_tokens"] < cold["encoded_tokens"] / 2
    assert follow_up["reused_tokens"] > follow_up["prompt_tokens"] / 2
    assert cold["golds_kept"][1] == warm["golds_kept"][1] == edited["golds_kept"][1] == 1

"""`winnow bench decode` on real weights: its figures agree with each other, and nothing is lost unseen."""

import json
import random
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from winnow_research.decode.loads import LOADS
from winnow_research.evaluation.repositories import Split, repositories

pytestmark = pytest.mark.real_weights

MODEL = ("--target", "smollm2-135m", "--prompts", "1", "--code", "60", "--max-tokens", "8")
FEW = ("--load", "quotes", "--load", "humaneval", "--draft", "auto", "--draft", "lookup")
CLICK = next(one for one in repositories(Split.TEST) if one.name == "click")


def bench(*arguments: str) -> str:
    command = [sys.executable, "-m", "winnow_lsp", "bench", "decode", *MODEL, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_loads_are_decoded_with_every_draft(smollm2: Path, tmp_path: Path) -> None:
    document = json.loads(bench(*FEW, "--json", "--out", str(tmp_path / "all.json")))
    written = json.loads((tmp_path / "all.json").read_text())
    assert written | {"machine": document["machine"]} == document
    figures = {(one["load"], one["draft"]): one for one in document["figures"]}
    assert set(figures) == {(load, draft) for load in ("quotes", "humaneval") for draft in ("off", "auto", "lookup")}
    for (_, draft), one in figures.items():
        assert 1 <= one["tokens_per_round"] <= 17
        assert one["accepted"] <= one["drafted"]
        if draft == "off":
            assert (one["ratio"], one["drafted"], one["different"]) == (1, 0, 0)
    assert all(one["gap"] is None or one["gap"] < 1 for one in document["answers"])  # Q4_1: 0.8 were seen


def test_each_load_and_draft_has_its_line(smollm2: Path) -> None:
    machine, *lines = [line for line in bench(*FEW).splitlines() if line]
    assert machine.startswith("processor ")
    loads = [(load, draft) for load in ("quotes", "humaneval") for draft in ("off", "auto", "lookup")]
    assert [tuple(line.split()[:2]) for line in lines] == loads


def test_a_run_that_is_cut_short_leaves_what_it_has(smollm2: Path, tmp_path: Path) -> None:
    out = tmp_path / "part.json"
    command = [sys.executable, "-m", "winnow_lsp", "bench", "decode", *MODEL, *FEW, "--prompts", "100"]
    with subprocess.Popen([*command, "--out", str(out)], stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if line.startswith("quotes 3/"):
                break
        running.kill()
    document = json.loads(out.read_text())
    assert {one["draft"] for one in document["figures"]} == {"off", "auto", "lookup"}
    assert len(document["answers"]) >= 2 * 3


def test_a_file_that_cannot_be_written_is_named_before_anything_is_measured(tmp_path: Path) -> None:
    out = tmp_path / "none" / "all.json"
    command = [sys.executable, "-m", "winnow_lsp", "bench", "decode", "--target", "no such model", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert done.stderr.strip().endswith(f"cannot write {out}: No such file or directory")


def test_prompts_are_the_same_each_time_and_show_what_they_ask_about() -> None:
    for name, load in LOADS.items():
        first, again = (list(islice(load(CLICK, 2000, random.Random("0"), None), 3)) for _ in range(2))
        assert first == again
        assert len({messages[-1].content for messages in first}) == 3
        for messages in first:
            asked = messages[-1].content
            assert "def " in asked
            if name != "humaneval":
                assert len(asked) < 12_000
                assert asked.split("`")[-2].split(".")[-1] in asked.split("Question:")[0]

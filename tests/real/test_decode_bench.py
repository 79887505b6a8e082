"""`winnow bench decode` on real weights: its figures agree with each other, and nothing is lost unseen."""

import json
import random
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from winnow_engine.evaluation.decode.loads import LOADS
from winnow_engine.evaluation.repositories import Split, repositories

pytestmark = pytest.mark.real_weights

MODEL = ("--target", "smollm2-135m", "--prompts", "1", "--code", "60", "--max-tokens", "8", "--passes", "1")
FEW = ("--load", "quotes", "--load", "humaneval", "--draft", "auto", "--draft", "lookup")
CLICK = next(one for one in repositories(Split.TEST) if one.name == "click")


def test_loads_are_decoded_with_every_draft(smollm2: Path) -> None:
    command = [sys.executable, "-m", "winnow_lsp", "bench", "decode", *MODEL, *FEW, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert list(document["passes_s"]) == ["1", "2", "4", "8", "16"]
    figures = {(one["load"], one["draft"]): one for one in document["figures"]}
    assert set(figures) == {(load, draft) for load in ("quotes", "humaneval") for draft in ("off", "auto", "lookup")}
    for (_, draft), one in figures.items():
        assert 1 <= one["tokens_per_round"] <= 17
        assert one["accepted"] <= one["drafted"]
        if draft == "off":
            assert (one["ratio"], one["drafted"], one["different"]) == (1, 0, 0)
    assert all(one["gap"] is None or one["gap"] < 1 for one in document["answers"])  # Q4_1: 0.8 were seen


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

"""Long conversations through `winnow serve --http` with real weights: what was sent is sent again word for word."""

import inspect
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from winnow_engine.encoder import segments, template, weights
from winnow_engine.index import lines, names, units

from ..unit.targets.hostile import Hostile, large, served
from .served import MODEL, post, serving, serving_fixture

pytestmark = pytest.mark.real_weights

BUDGET = 900
MODULES = (segments, template, weights, lines, names, units) * 2


def user(number: int) -> dict[str, str]:
    module = MODULES[number]
    part = inspect.getsource(module).splitlines(keepends=True)[8 * (number // 7) :][:8]
    return {"role": "user", "content": f"What is this for?\n```python {module.__name__}.py\n{''.join(part)}```\n"}


def converse(url: str, turns: int, **fields: Any) -> list[dict[str, Any]]:
    """Hold a conversation, and return each turn's usage."""
    messages, found = [{"role": "system", "content": "Answer in one word."}], list[dict[str, Any]]()
    for number in range(turns):
        messages.append(user(number))
        answer = post(url, messages, max_tokens=8, **fields)
        messages.append(answer["choices"][0]["message"])
        found.append(answer["usage"])
    return found


url = serving_fixture("--target", MODEL, "--budget", str(BUDGET))


def test_most_of_a_long_conversation_is_read_once(url: str) -> None:
    turns = converse(url, len(MODULES))
    how = [usage["winnow"]["compression"] for usage in turns]
    assert how[0] == "none"
    assert {"new", "kept"} < set(how)
    for before, after in pairwise(turns):
        if after["winnow"]["compression"] == "kept":
            # All but the end, where the template is about to ask for the answer.
            assert after["prompt_tokens_details"]["cached_tokens"] >= before["prompt_tokens"] - 8
    cached = sum(usage["prompt_tokens_details"]["cached_tokens"] for usage in turns)
    assert cached > 0.6 * sum(usage["prompt_tokens"] for usage in turns)
    assert all(usage["prompt_tokens"] < BUDGET + 500 for usage in turns)


def test_a_server_behind_it_is_sent_the_same_words_again(smollm2: Path, tmp_path: Path) -> None:
    hostile = Hostile(models=large)
    with served(hostile), serving(tmp_path, "--target", hostile.url, "--budget", str(BUDGET)) as (url, _):
        turns = converse(url, len(MODULES), model=hostile.url.removeprefix("http://"))
    how = [usage["winnow"]["compression"] for usage in turns]
    assert {"new", "kept"} < set(how)
    sent = [talk.document["messages"] for talk in hostile.chats]
    assert len(sent) == len(how)
    for compression, (before, after) in zip(how[1:], pairwise(sent), strict=True):
        assert (after[: len(before)] == before) == (compression != "new")
        assert after[-1] in map(user, range(len(MODULES)))
    assert any("⋯" in message["content"] for message in sent[-1])

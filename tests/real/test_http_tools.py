"""Tools through `winnow serve --http` as a process with real weights, over raw HTTP and OpenAI's own package.

Qwen2.5-Coder's small models call tools in whatever form they like, if at all. Of the questions tried, greedy decoding
answers these with a call on the 0.5B.
"""

import inspect
import json
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from winnow_engine.core import Sampling
from winnow_engine.encoder import segments, template, weights
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import CallDelta, Tools
from winnow_engine.targets.base import Request
from winnow_engine.targets.remote.address import parse
from winnow_engine.targets.remote.target import HttpTarget

from ..unit.targets.hostile import Hostile, large, served
from .llama_server import CONTEXT
from .llama_server import serving as llama_serving
from .served import MODEL, post, serving, serving_fixture

pytestmark = pytest.mark.real_weights

SMALL = "qwen2.5-coder-0.5b"


def function(name: str, description: str, parameter: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {parameter: {"type": "string"}}, "required": [parameter]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


WEATHER = function("get_weather", "Get the current weather of a city.", "city")
READ = function("read_file", "Read a file of the workspace.", "path")
ASKED = {"messages": [{"role": "user", "content": "What is the weather in Paris?"}], "tools": [WEATHER]}


url = serving_fixture("--target", SMALL)


def calls(message: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(one["function"]["name"], json.loads(one["function"]["arguments"])) for one in message["tool_calls"]]


def test_a_question_that_needs_a_tool_gets_a_call(url: str) -> None:
    (choice,) = post(url, **ASKED, max_tokens=60)["choices"]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("tool_calls", None)
    assert calls(choice["message"]) == [("get_weather", {"city": "Paris"})]


def test_a_streamed_call_comes_in_pieces_and_without_markup(url: str) -> None:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client:
        stream = client.chat.completions.create(model=SMALL, **ASKED, max_tokens=60, stream=True)
        choices = [chunk.choices[0] for chunk in stream]
    deltas = [one for choice in choices for one in choice.delta.tool_calls or []]
    assert (deltas[0].index, deltas[0].function.name, deltas[0].function.arguments) == (0, "get_weather", "")
    assert json.loads("".join(one.function.arguments for one in deltas)) == {"city": "Paris"}
    assert "".join(choice.delta.content or "" for choice in choices) == ""
    assert choices[-1].finish_reason == "tool_calls"


def test_the_tool_that_is_named_is_called(url: str) -> None:
    """Whatever the question is, because the prompt ends in the middle of the call."""
    choice = {"type": "function", "function": {"name": "read_file"}}
    question = [{"role": "user", "content": "What does src/main.py do?"}]
    (found,) = post(url, question, tools=[WEATHER, READ], tool_choice=choice, max_tokens=60)["choices"]
    assert calls(found["message"])[0] == ("read_file", {"path": "src/main.py"})


def test_a_result_is_read(url: str) -> None:
    (choice,) = post(url, **ASKED, max_tokens=60)["choices"]
    result = {"role": "tool", "tool_call_id": choice["message"]["tool_calls"][0]["id"], "content": "17 degrees, fog"}
    said = [*ASKED["messages"], choice["message"], result, {"role": "user", "content": "Answer in one sentence."}]
    (choice,) = post(url, said, tools=[WEATHER], max_tokens=60)["choices"]
    assert "fog" in choice["message"]["content"]
    assert "tool_calls" not in choice["message"]


def test_one_winnow_passes_tools_on_to_another(url: str) -> None:
    target, called = HttpTarget.open(parse(url)), list[CallDelta]()
    prompt = target.chat_prompt([Message("user", ASKED["messages"][0]["content"])], Tools((WEATHER,)))
    answer = target.generate(Request(prompt, Sampling(max_tokens=60), on_call=called.append))
    assert (answer.text, answer.finish) == ("", "eos")
    assert (called[0].name, json.loads("".join(one.arguments for one in called))) == ("get_weather", {"city": "Paris"})
    assert answer.prompt_tokens <= len(prompt)


def test_calls_that_a_server_leaves_in_its_text_are_read(smollm2: Path, qwen_small: Path, tmp_path: Path) -> None:
    """llama-cpp-python's server shows tools to the model, but does not look for calls in its answer."""
    with (
        llama_serving(qwen_small, tmp_path / "log") as (behind, _),
        serving(tmp_path, "--target", f"{behind}/v1#small", "--set", f"targetContext={CONTEXT}") as (url, _),
    ):
        (choice,) = post(url, **ASKED, max_tokens=60)["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert calls(choice["message"]) == [("get_weather", {"city": "Paris"})]


def test_a_model_without_tools_is_named(smollm2: Path, tmp_path: Path) -> None:
    with serving(tmp_path, "--target", MODEL) as (url, _):
        answer = httpx.post(f"{url}/v1/chat/completions", json=ASKED, timeout=300)
    assert answer.status_code == 400
    assert "SmolLM2-135M-Instruct.Q4_1 has no tools" in answer.json()["error"]["message"]


def test_old_results_are_cut_and_what_is_new_stays(smollm2: Path, qwen_small: Path, tmp_path: Path) -> None:
    """What the target sees, shown by a server in its place; the default drafter scores."""
    question = "Which function cuts a file's tokens into segments at unit borders?"
    said: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": question}]
    for module in (template, segments, weights):
        arguments = json.dumps({"path": f"{module.__name__.replace('.', '/')}.py"})
        call = {"id": module.__name__, "type": "function", "function": {"name": "read_file", "arguments": arguments}}
        said.append({"role": "assistant", "content": "", "tool_calls": [call]})
        said.append({"role": "tool", "tool_call_id": module.__name__, "content": inspect.getsource(module)})
    hostile = Hostile(models=large)
    options = ("--drafter", SMALL, "--budget", "600")
    with served(hostile), serving(tmp_path, "--target", hostile.url, *options) as (url, _):
        post(url, said, tools=[READ], parallel_tool_calls=False)
    (talk,) = hostile.chats
    seen = talk.document["messages"]
    assert (talk.document["tools"], talk.document["parallel_tool_calls"]) == ([READ], False)
    assert [{**one, "content": ""} for one in seen] == [{**one, "content": ""} for one in said]
    assert [seen[number] for number in (0, 1, 7)] == [said[number] for number in (0, 1, 7)]
    assert "def cut(" in seen[5]["content"]
    assert len(seen[3]["content"]) + len(seen[5]["content"]) < 3000

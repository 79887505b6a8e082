"""Thoughts of models on servers: told apart in every form, stopped at their limit, and followed by an answer."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from winnow_engine.core import Sampling
from winnow_engine.errors import TargetError
from winnow_engine.prompting.messages import Message
from winnow_engine.targets.base import Generation, Request, fits_anew
from winnow_engine.targets.remote.address import parse
from winnow_engine.targets.remote.target import HttpTarget

from ..hostile import DONE, Hostile, Talk, delta, event

QUESTION = [Message("user", "Why?")]
ON = Sampling(max_tokens=8, thinking="on", thinking_tokens=20)
AUTO = Sampling(max_tokens=8, thinking_tokens=20)
SWITCHES = ("chat_template_kwargs", "reasoning_effort")


def ask(hostile: Hostile, sampling: Sampling) -> tuple[Generation, str]:
    """The answer of a target opened now, and the thought as it was streamed."""
    return ask_again(HttpTarget.open(parse(hostile.url)), sampling)


def ask_again(target: HttpTarget, sampling: Sampling) -> tuple[Generation, str]:
    said, thought = list[str](), list[str]()
    request = Request(target.chat_prompt(QUESTION), sampling, said.append, on_thought=thought.append)
    answer = target.generate(request)
    assert answer.text == "".join(said)
    return answer, "".join(thought)


def wanted(talk: Talk) -> bool:
    """Whether a request allows to think, as a server with an obedient model reads it."""
    kwargs: dict[str, Any] = talk.document.get("chat_template_kwargs", {})
    return bool(kwargs.get("enable_thinking", True)) and talk.document.get("reasoning_effort") != "none"


END = (event(finish="stop"), DONE)
FORMS = {
    "llama-server": (delta(reasoning_content="Hm, "), delta(reasoning_content="so."), delta(content="Yes."), *END),
    "vLLM": (delta(reasoning="Hm, ", content=None), delta(reasoning="so."), delta(content="\n\nYes."), *END),
    "both": (delta(reasoning="Hm, so.", reasoning_content="Hm, so."), delta(content="Yes."), *END),
    "markers left": (
        *(delta(content=c) for c in ("<th", "in", "k>\n", "Hm, ", "so.\n</", "think", ">\n\nY", "es.")),
        *END,
    ),
    "at once": (delta(content="<think>Hm, so.</think>Yes."), *END),
    "Magistral": (*(delta(content=c) for c in ("[TH", "INK]Hm, ", "so.[/THI", "NK]Y", "es.")), *END),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sampling", [ON, AUTO], ids=["on", "auto"])
def test_a_thought_is_told_apart_in_every_form(hostile: Hostile, form: str, sampling: Sampling) -> None:
    hostile.chat = lambda talk: talk.stream(*FORMS[form])
    answer, streamed = ask(hostile, sampling)
    assert answer.thought is not None
    assert (answer.text, answer.thought.text, streamed) == ("Yes.", "Hm, so.", "Hm, so.")
    assert answer.thought.tokens > 0 or form == "at once"
    assert answer.notices == ()


@pytest.mark.parametrize(("tokens", "finish"), [(8, "length"), (60, "stop")])
def test_an_answer_without_a_thought_is_shown_as_it_comes(hostile: Hostile, tokens: int, finish: str) -> None:
    # vLLM, whose prompt opens a thought, and whose reasoning parser leaves nothing of an empty one
    hostile.pages["/tokenize"] = lambda talk: talk.json({"count": 2, "tokens": [1, 2]})
    hostile.pages["/detokenize"] = lambda talk: talk.json({"prompt": "<|im_start|>assistant\n<think>\n"})
    said = [f"w{n} " for n in range(tokens)]
    hostile.chat = lambda talk: talk.stream(*map(event, said), event(finish=finish), DONE)
    answer, thought = ask(hostile, Sampling(max_tokens=tokens, thinking_tokens=20))
    assert (answer.text, thought, answer.notices, len(hostile.chats)) == ("".join(said), "", (), 1)


def test_a_server_that_obeys_is_asked_once_and_does_not_think(hostile: Hostile) -> None:
    hostile.chat = lambda talk: talk.stream(*(FORMS["vLLM"] if wanted(talk) else (event("Yes."), *END)))
    answer, _ = ask(hostile, AUTO)
    assert (answer.text, answer.thought, len(hostile.chats)) == ("Yes.", None, 1)
    assert hostile.chats[0].document["max_tokens"] == 8
    answer, _ = ask(hostile, ON)
    assert answer.thought is not None
    assert hostile.chats[1].document["max_tokens"] == 8 + 20 + 16


def test_a_server_that_thinks_unasked_has_room_for_it_from_then_on(hostile: Hostile) -> None:
    hostile.chat = lambda talk: talk.stream(*FORMS["llama-server"])
    target = HttpTarget.open(parse(hostile.url))
    assert target.thinking_tokens(AUTO) == 0
    for _ in range(2):
        assert ask_again(target, AUTO)[0].text == "Yes."
    assert [talk.document["max_tokens"] for talk in hostile.chats] == [8, 44, 44]
    assert target.thinking_tokens(AUTO) == 36


@pytest.mark.parametrize("meanwhile", [False, True])
def test_a_prompt_that_leaves_no_room_for_a_thought_is_made_anew(hostile: Hostile, meanwhile: bool) -> None:
    thinks = [delta(reasoning=f"{n} ") for n in range(30)]
    hostile.chat = lambda talk: talk.stream(*thinks, event("Yes."), *END)
    target, said, others = HttpTarget.open(parse(hostile.url)), list[str](), [None] * meanwhile

    @fits_anew
    def answer() -> Generation:
        room = target.context_limit - target.thinking_tokens(AUTO) - AUTO.max_tokens
        prompt = target.chat_prompt([Message("user", "x" * 2 * (room - 40))])
        while others:
            others.pop()
            ask_again(target, AUTO)  # another question is the first to see that it thinks
        return target.generate(Request(prompt, AUTO, said.append, on_thought=said.append))

    assert answer().text == "Yes."
    assert "".join(said).endswith("28 29Yes.")
    assert hostile.chats[-1].document["max_tokens"] == 44
    assert target.thinking_tokens(AUTO) == 36


def endless(talk: Talk) -> None:
    """Thinks without end, unless asked not to."""
    if wanted(talk):
        talk.stream(*(delta(reasoning_content=f"{n} ") for n in range(50)))
        talk.until_left()
    else:
        talk.stream(event("Yes."), *END)


def test_a_thought_over_its_limit_is_stopped_and_the_answer_asked_for(hostile: Hostile) -> None:
    hostile.chat = endless
    answer, streamed = ask(hostile, ON)
    assert (answer.text, answer.finish, len(hostile.chats)) == ("Yes.", "eos", 2)
    assert answer.thought is not None
    assert (answer.thought.tokens, answer.thought.text) == (37, streamed)
    assert streamed.split() == [str(n) for n in range(37)]
    assert "37 tokens of thinking" in answer.notices[0]
    assert hostile.chats[1].document["messages"][-1]["content"].endswith("/no_think")
    assert answer.decode_tokens > 20


def test_a_model_that_cannot_but_think_may_do_so_for_longer(hostile: Hostile) -> None:
    thinks = [delta(reasoning=f"{n} ") for n in range(60)]
    hostile.chat = lambda talk: talk.stream(*thinks, event("Yes."), *END)
    answer, _ = ask(hostile, AUTO)
    assert (answer.text, len(hostile.chats)) == ("Yes.", 3)
    assert answer.thought is not None
    assert answer.thought.tokens == 37 + 60


def test_a_model_that_only_thinks_is_an_error_and_no_empty_answer(hostile: Hostile) -> None:
    hostile.chat = lambda talk: talk.stream(delta(reasoning="Hm."), event(finish="length"), DONE)
    with pytest.raises(TargetError, match="thinks without end"):
        ask(hostile, AUTO)
    assert len(hostile.chats) == 3


def test_reasoning_that_a_server_keeps_to_itself_is_counted(hostile: Hostile) -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 8, "completion_tokens_details": {"reasoning_tokens": 8}}
    silent = (event(finish="length"), b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n", DONE)
    hostile.chat = lambda talk: talk.stream(*silent if talk.document["max_tokens"] == 8 else (event("Yes."), *END))
    assert ask(hostile, AUTO)[0].text == "Yes."
    assert len(hostile.chats) == 2


def refusing(*names: str) -> Callable[[Talk], None]:
    def chat(talk: Talk) -> None:
        found = [name for name in names if name in talk.document]
        if found:
            talk.json({"error": {"message": f"Unrecognized request argument supplied: {found[0]}"}}, status=400)
        else:
            talk.stream(event("Yes."), *END)

    return chat


@pytest.mark.parametrize("names", [SWITCHES[:1], SWITCHES[1:], SWITCHES])
def test_switches_that_a_server_refuses_are_left_out_from_then_on(hostile: Hostile, names: tuple[str, ...]) -> None:
    hostile.chat = refusing(*names)
    target = HttpTarget.open(parse(hostile.url))
    assert ask_again(target, AUTO)[0].text == "Yes."
    asked = len(hostile.chats)
    assert asked == 1 + len(names)
    assert ask_again(target, AUTO)[0].text == "Yes."
    assert len(hostile.chats) == asked + 1
    assert {*SWITCHES} - hostile.chats[-1].document.keys() == {*names}

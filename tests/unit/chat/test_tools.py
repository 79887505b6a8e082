"""A turn with tools: what is called, what is said, and what of a conversation with results may be cut."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from winnow_engine.chat.complete import Completion, CompletionRequest, complete
from winnow_engine.chat.fitting import SentConversations
from winnow_engine.chat.passages import compressible, passages, rebuilt
from winnow_engine.chat.turn import TurnPiece
from winnow_engine.core import Cancellation, Finish, Sampling, Thinking
from winnow_engine.errors import BudgetError
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import NO_TOOLS, CallDelta, ToolCall, Tools
from winnow_engine.targets.base import Generation, Request
from winnow_engine.targets.text_stream import StopStream

LOOK = {"type": "function", "function": {"name": "look"}}
LOOKS = Tools((LOOK,))
CALL = '<tool_call>{"name": "look", "arguments": {"at": "a.py"}}</tool_call>'


class Says:
    """A target that says its pieces, and then sends its deltas as a server does. A token a word."""

    def __init__(self, *pieces: str | CallDelta, context_limit: int = 1000, finish: Finish = "eos") -> None:
        self.pieces, self.context_limit = pieces, context_limit
        self._finish: Finish = finish
        self.asked: list[tuple[Sequence[Message], Tools]] = []

    def count(self, text: str) -> int:
        return len(text.split())

    def thinking_tokens(self, sampling: Sampling) -> int:
        return 0

    def chat_prompt(
        self, messages: Sequence[Message], tools: Tools = NO_TOOLS, thinking: Thinking = "auto"
    ) -> list[str]:
        self.asked.append((messages, tools))
        return [word for message in messages for word in message.content.split()]

    def generate(self, request: Request[list[str]]) -> Generation:
        stops = StopStream(request.sampling.stop)
        for piece in self.pieces:
            if isinstance(piece, CallDelta):
                request.on_call(piece)
            else:
                request.on_text(stops.feed(piece))
        request.on_text(stops.flush())
        said = "".join(piece for piece in self.pieces if isinstance(piece, str))
        return Generation(said, self._finish, len(request.prompt), 0, 0.0, 0.0, 1, 0.0)


def run(
    target: Says, tools: Tools = LOOKS, *messages: Message, stop: tuple[str, ...] = ()
) -> tuple[Completion, list[TurnPiece]]:
    assistant: Any = SimpleNamespace(target=SimpleNamespace(wait_for=lambda _: target), keys=None)
    asked = CompletionRequest(messages or (Message("user", "Where?"),), Sampling(max_tokens=8, stop=stop), True, tools)
    pieces = list[TurnPiece]()
    return complete(assistant, asked, 900, SentConversations(), pieces.append, Cancellation()), pieces


def test_calls_are_taken_out_of_the_text_and_passed_on_with_ids() -> None:
    completion, pieces = run(Says("I lo", "ok.\n<tool", f"{CALL[5:]}\n{CALL}"))
    assert completion.generation.text == "I look."
    first, second = completion.calls
    assert (first.name, first.arguments, second.name) == ("look", '{"at": "a.py"}', "look")
    assert first.id.startswith("call_")
    assert first.id != second.id
    assert pieces == [
        "I lo", "ok.",
        CallDelta(0, first.id, "look"), CallDelta(0, arguments=first.arguments),
        CallDelta(1, second.id, "look"), CallDelta(1, arguments=second.arguments),
    ]  # fmt: skip


def test_an_answer_that_was_begun_for_the_model_is_read_from_its_beginning() -> None:
    prefix = '<tool_call>\n{"name": "look", "arguments":'
    completion, _ = run(Says(prefix, ' {"at": 1}}\n', "</tool_call>"))
    assert (completion.generation.text, completion.calls[0].arguments) == ("", '{"at": 1}')
    assert run(Says(prefix, " oops"))[0].generation.text == f"{prefix} oops"


def test_stop_strings_end_no_call_that_is_forced() -> None:
    assert not run(Says(CALL), stop=("a.py",))[0].calls
    (call,) = run(Says(CALL), Tools((LOOK,), required=True), stop=("a.py",))[0].calls
    assert call.arguments == '{"at": "a.py"}'


def test_a_servers_calls_are_numbered_in_order_whatever_it_numbers_them() -> None:
    deltas = [
        CallDelta(0, "a", "look"), CallDelta(0, arguments="{}"), CallDelta(0, "b", "look", '{"at"'),
        CallDelta(0, arguments=": 1}"), CallDelta(5, "", "look"), CallDelta(5, arguments="{"),
        CallDelta(5, arguments="}"),
    ]  # fmt: skip
    completion, pieces = run(Says("Hm.", *deltas))
    calls = completion.calls
    assert [call.arguments for call in calls] == ["{}", '{"at": 1}', "{}"]
    assert [call.id for call in calls[:2]] == ["a", "b"]
    assert calls[2].id.startswith("call_")
    streamed = [piece for piece in pieces if isinstance(piece, CallDelta)]
    assert [(one.index, one.id) for one in streamed if one.id] == [(n, call.id) for n, call in enumerate(calls)]
    assert ["".join(one.arguments for one in streamed if one.index == n) for n in range(3)] == [
        call.arguments for call in calls
    ]


@pytest.mark.parametrize(("finish", "last"), [("eos", "{}"), ("length", "")])
def test_a_servers_call_without_arguments_has_an_empty_object_unless_cut_off(finish: Finish, last: str) -> None:
    first, second, third = (CallDelta(number, str(number), "look") for number in range(3))
    completion, pieces = run(Says(first, second, CallDelta(1, arguments='{"at": 1}'), "Hm.", third, finish=finish))
    assert [call.arguments for call in completion.calls] == ["{}", '{"at": 1}', last]
    empty, full = CallDelta(0, arguments="{}"), CallDelta(1, arguments='{"at": 1}')
    assert pieces == ["Hm.", first, empty, second, full, third, *([CallDelta(2, arguments=last)] if last else [])]


@pytest.mark.parametrize("order", ["0011", "1100", "0101", "1010", "1001", "0110"])
def test_calls_whose_arguments_a_server_sends_in_any_order_come_out_one_after_the_other(order: str) -> None:
    calls = [CallDelta(number, str(number), "look") for number in range(2)]
    parts = [iter((f'{{"at": {{"n": {number}}}', "}")) for number in range(2)]
    deltas = [CallDelta(int(number), arguments=next(parts[int(number)])) for number in order]
    completion, pieces = run(Says(*calls, *deltas))
    assert [call.arguments for call in completion.calls] == ['{"at": {"n": 0}}', '{"at": {"n": 1}}']
    streamed = [piece for piece in pieces if isinstance(piece, CallDelta)]
    assert [one.index for one in streamed] == sorted(one.index for one in streamed)
    assert [one for one in streamed if one.id] == calls
    for number, call in enumerate(completion.calls):
        assert "".join(one.arguments for one in streamed if one.index == number) == call.arguments


def called(number: int, path: str) -> Message:
    return Message("assistant", "", (ToolCall(str(number), "look", f'{{"at": "{path}"}}'),))


LOOP = [
    Message("system", "Be brief."),
    Message("user", "First?"),
    called(1, "/src/a.py"),
    Message("tool", "def a():\n    return 1\n", call_id="1"),
    Message("assistant", "One."),
    Message("user", "Second?"),
    called(2, "what"),
    Message("tool", "old\n", call_id="2"),
    called(3, "b.md"),
    Message("tool", "new\n", call_id="3"),
]


def test_results_are_cut_once_the_assistant_has_gone_on_from_them() -> None:
    assert compressible(LOOP) == [1, 2, 3, 4, 7]
    assert [passage.local_path for passage in passages(LOOP)] == [
        "message-1-0.md", "src/a.py", "message-4-0.md", "result-7.txt",
    ]  # fmt: skip
    cut = rebuilt(LOOP, passages(LOOP), {})
    assert [message.content for message in cut] == [
        "Be brief.", "⋯ 1 line left out\n", "", "⋯ 2 lines left out\n", "⋯ 1 line left out\n", "Second?",
        "", "⋯ 1 line left out\n", "", "new\n",
    ]  # fmt: skip


@pytest.mark.parametrize("kept", [{}, {"3/0/src/a.py": [(2, 2)]}])
def test_a_call_and_its_result_stay_together_whatever_is_cut(kept: dict[str, Any]) -> None:
    cut = rebuilt(LOOP, passages(LOOP), kept)
    assert [(m.role, m.calls, m.call_id) for m in cut] == [(m.role, m.calls, m.call_id) for m in LOOP]


def test_every_prompt_that_is_tried_has_the_tools_and_what_is_new_whole() -> None:
    target = Says("x", context_limit=50)
    new = [Message("user", "Where?"), called(1, "a"), Message("tool", "word " * 60, call_id="1")]
    with pytest.raises(BudgetError, match=r"tools, .* the frame of each message\) has 61 tokens"):
        run(target, LOOKS, *new)
    assert [(list(messages), tools) for messages, tools in target.asked] == [(new, LOOKS)] * 2

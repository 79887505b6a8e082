"""When a conversation is compressed and when not; the models are fakes, the words are counted."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from winnow_engine.chat.complete import DEFAULT_ANSWER, CompletionRequest, complete
from winnow_engine.chat.compress import question_of
from winnow_engine.chat.fitting import SentConversations
from winnow_engine.core import Cancellation, Sampling, Thinking
from winnow_engine.errors import BudgetError, ThoughtRoomError
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import NO_TOOLS, Tools
from winnow_engine.targets.base import Generation, Request


class WordTarget:
    """A token a word; remembers what it was asked."""

    host = None

    def __init__(self, context_limit: int = 100_000) -> None:
        self.context_limit = context_limit
        self.asked: list[tuple[list[Message], Sampling]] = []

    def count(self, text: str) -> int:
        return len(text.split())

    def thinking_tokens(self, sampling: Sampling) -> int:
        return 0

    def chat_prompt(self, messages: Sequence[Message], tools: Tools = NO_TOOLS, thinking: Thinking = "auto") -> "Words":
        return Words(messages)

    def generate(self, request: Request["Words"]) -> Generation:
        self.asked.append((list(request.prompt.messages), request.sampling))
        return Generation("yes", "eos", len(request.prompt), 0, 0.0, 0.0, 1, 0.0)


class Words:
    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages

    def __len__(self) -> int:
        return sum(len(message.content.split()) for message in self.messages)


def run(target: WordTarget, messages: Sequence[Message], budget: int = 50, limit: int | None = None) -> Any:
    ready, unused = SimpleNamespace(wait_for=lambda _: target), SimpleNamespace(wait_for=None)
    assistant: Any = SimpleNamespace(target=ready, keys=unused)
    asked = CompletionRequest(messages, Sampling(max_tokens=limit or 7), limit is not None)
    return complete(assistant, asked, budget, SentConversations(), lambda _: None, Cancellation())


def test_a_short_conversation_passes_unchanged_and_needs_no_drafter() -> None:
    messages, target = [Message("user", "hello " * 50)], WordTarget()
    assert run(target, messages).original_tokens == 50
    assert target.asked[0][0] == messages


def test_the_last_question_is_never_cut_however_long() -> None:
    said = [Message("user", "hi"), Message("assistant", "hello " * 40)]
    messages, target = [Message("system", "word " * 400), *said, Message("user", "hello " * 500)], WordTarget()
    run(target, messages)
    assert target.asked[0][0] == messages


def test_what_may_not_be_cut_and_does_not_fit_is_refused() -> None:
    with pytest.raises(BudgetError, match="has 150 tokens in 2 messages: with the answer, too many for"):
        run(WordTarget(100), [Message("system", "word " * 50), Message("user", "hello " * 100)], limit=10)


def test_a_server_that_turns_out_to_think_gets_room_for_that() -> None:
    class Thinking(WordTarget):
        thinks = False

        def thinking_tokens(self, sampling: Sampling) -> int:
            return 30 if self.thinks else 0

        def generate(self, request: Request[Words]) -> Generation:
            answer, thought_before, self.thinks = super().generate(request), self.thinks, True
            if not thought_before:
                raise ThoughtRoomError
            return answer

    target = Thinking(400)
    run(target, [Message("user", "hello " * 265)], limit=120)
    assert [sampling.max_tokens for _, sampling in target.asked] == [120, 105]


@pytest.mark.parametrize(
    ("context", "limit", "words", "given"),
    [
        (100_000, None, 1, DEFAULT_ANSWER), (400, None, 1, 100), (400, 9, 1, 9),
        (400, 32_000, 1, 399), (400, 400, 1, 399), (400, 350, 200, 200), (400, 32_000, 300, 100),
    ],
)  # fmt: skip
def test_an_answer_gets_what_it_asks_for_or_what_the_context_has_left(
    context: int, limit: int | None, words: int, given: int
) -> None:
    target = WordTarget(context)
    run(target, [Message("user", "hello " * words)], limit=limit)
    assert target.asked[0][1].max_tokens == given


def asked(*contents: str) -> str:
    return question_of([Message("user", text) for text in contents]).search_text


def test_what_is_asked_are_the_words_of_the_users_last_message() -> None:
    code = "```python\ndef area(r):\n    return r\n```\n"
    assert asked(f"Before.\n{code}What is it?") == "Before.\nWhat is it?"
    assert asked(code) == code.strip()
    long = asked("start " + "x" * 9000 + " end")
    assert long.startswith("start")
    assert long.endswith("end")
    assert len(long) < 2100

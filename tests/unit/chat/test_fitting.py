"""When a choice is kept and when it is made anew; tokens are words, and what is chosen are the last words."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from winnow_engine.chat import fitting
from winnow_engine.chat.fitting import SHARE, Fitting, SentConversations
from winnow_engine.chat.passages import compressible
from winnow_engine.core import Cancellation, Thinking
from winnow_engine.errors import BudgetError
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import NO_TOOLS, Tools

BUDGET = 100


class Target:
    """Remembers the words of the prompt it read last, unless it is a `server`, which does not say."""

    def __init__(self, context_limit: int = 1000, server: bool = False) -> None:
        self.context_limit, self._server, self.memory = context_limit, server, list[str]()

    def count(self, text: str) -> int:
        return len(text.split())

    def chat_prompt(
        self, messages: Sequence[Message], tools: Tools = NO_TOOLS, thinking: Thinking = "auto"
    ) -> list[str]:
        return [word for message in messages for word in (message.role, *message.content.split())]

    def unread(self, prompt: list[str]) -> int | None:
        same = next((n for n, (a, b) in enumerate(zip(self.memory, prompt, strict=False)) if a != b), len(self.memory))
        return None if self._server else len(prompt) - same


class LastWords:
    """As a Compressor, without a drafter: of what may be cut, the last words stay."""

    def __init__(self, messages: Sequence[Message], *_: object) -> None:
        self._messages = list(messages)
        self.tokens = sum(len(messages[number].content.split()) for number in compressible(messages))

    def within(self, budget: int) -> list[Message]:
        found = list(self._messages)
        for number in compressible(found)[::-1]:
            words = found[number].content.split()
            kept = words[max(0, len(words) - budget) :] if budget else []
            found[number], budget = replace(found[number], content=" ".join(kept)), budget - len(kept)
        return found


@pytest.fixture(autouse=True)
def last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "Compressor", LastWords)


class Conversation:
    """A client's conversation with a target, through what is tested."""

    def __init__(self, target: Target, now: Any = lambda: 0.0) -> None:
        self.target, self.sent, self.messages = target, SentConversations(clock=now), [Message("system", "Brief.")]

    def ask(self, words: int, name: str, limit: int = 10) -> tuple[str, list[str], int]:
        """How it was compressed, what was sent, and how many words the target had to read."""
        self.messages.append(Message("user", " ".join(f"{name}{n}" for n in range(words))))
        keys: Any = SimpleNamespace(wait_for=lambda _: None)
        target: Any = self.target
        room = self.target.context_limit - limit
        one = Fitting(target, keys, BUDGET, room, room, Cancellation())
        original = self.target.chat_prompt(self.messages)
        prompt, compression = one.fit(self.messages, NO_TOOLS, original, self.sent)
        unread = self.target.unread(prompt) or 0
        self.target.memory = prompt
        self.messages.append(Message("assistant", "ok"))
        return compression, prompt, unread


def test_a_conversation_is_cut_once_and_then_grows_until_its_limit() -> None:
    talk = Conversation(Target())
    turns = [talk.ask(20, f"q{number}x") for number in range(12)]
    how = [compression for compression, _, _ in turns]
    assert how[:6] == ["none"] * 5 + ["none" if how[5] == "none" else "new"]
    first = how.index("new")
    assert how[first + 1] == how[first + 2] == "kept"
    assert "new" in how[first + 1 :]
    for before, after in pairwise(turns):
        if after[0] == "kept":
            assert after[1][: len(before[1])] == before[1]  # word for word, and the rest behind it
    assert all(len(prompt) <= BUDGET + 20 + 30 for _, prompt, _ in turns)


def test_a_new_choice_leaves_room_to_grow_where_the_conversation_is_known() -> None:
    talk = Conversation(Target())
    alone = Conversation(Target())
    for number in range(5):
        talk.ask(20, f"q{number}x")
    compression, prompt, _ = talk.ask(20, "lastx")
    assert compression == "new"
    assert SHARE * BUDGET - 5 <= sum("q" in word for word in prompt) <= SHARE * BUDGET
    alone.messages = talk.messages[:-2]
    compression, prompt, _ = alone.ask(20, "lastx")
    assert compression == "new"
    assert BUDGET - 5 <= sum("q" in word for word in prompt) <= BUDGET


def test_a_target_that_counts_more_than_the_drafter_gets_the_same_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Generous(LastWords):
        def within(self, budget: int) -> list[Message]:
            return super().within(budget + budget // 4)

    monkeypatch.setattr(fitting, "Compressor", Generous)
    talk = Conversation(Target())
    talk.messages.append(Message("user", " ".join(f"old{n}" for n in range(300))))
    compression, prompt, _ = talk.ask(20, "lastx")
    talk.messages = talk.messages[:-2]
    assert (compression, *talk.ask(20, "lastx")[:2]) == ("new", "kept", prompt)


def test_forty_turns_are_mostly_in_memory_already() -> None:
    talk = Conversation(Target())
    turns = [talk.ask(5, f"q{number}x") for number in range(40)]
    assert sum(unread for _, _, unread in turns) < 0.25 * sum(len(prompt) for _, prompt, _ in turns)


def test_the_context_is_a_limit_too_and_leaves_room_to_grow() -> None:
    talk = Conversation(Target(context_limit=90))
    turns = [talk.ask(6, f"q{number}x") for number in range(20)]
    assert all(len(prompt) <= 80 for _, prompt, _ in turns)
    how = [compression for compression, _, _ in turns]
    assert how.count("new") >= 2
    assert how.count("kept") > how.count("new")


def test_what_may_not_be_cut_and_does_not_fit_is_refused_and_nothing_is_remembered() -> None:
    talk = Conversation(Target(context_limit=60))
    talk.ask(10, "a")
    with pytest.raises(BudgetError, match="has 55 tokens"):
        talk.ask(50, "b")
    assert talk.sent.find(talk.messages[:2], NO_TOOLS).length == 2
    assert talk.sent.find(talk.messages, NO_TOOLS).length == 2

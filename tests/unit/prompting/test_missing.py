"""Questions with the effort `deep`, with a drafter that counts words and a target that says what a test wants."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Cancellation, Folder, Kept, Sampling
from winnow_engine.errors import CancelledError, TargetError
from winnow_engine.index.workspace import Sources
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.missing import ONE_LINE
from winnow_engine.question import Question, Turn
from winnow_engine.storage.store import Store
from winnow_engine.targets.answer import Answer
from winnow_engine.targets.base import Generation, Request

from ..selection.words import Words

ASKED = Question("What does `add_tax` do?")
BUDGET = 60
MORE = "    amount = amount + 1\n"  # five words
SHOP = {
    "shop/tax.py": "def add_tax(amount):\n    rate = find_rate(amount)\n" + 9 * MORE,
    "shop/rates.py": f"def find_rate(amount):\n{2 * MORE}    return Table().row(amount)\n\n\n"
    f'class Table:\n    """{11 * "All rates. "}"""\n\n    def row(self, amount):\n{2 * MORE}        return amount\n',
    "shop/posts.py": f"def send_letter(amount):\n{2 * MORE}    return amount\n",
    "shop/other.py": "".join(f"def pay(amount):\n{2 * MORE}    return {n}\n\n\n" for n in range(5)),
    "shop/limits.py": f"LIMITS = [\n{12 * '    1,'}\n]\n",
    "shop/long.py": f"def long(amount):\n{40 * MORE}",
}


class Chat(list[str]):
    """Messages as a prompt, in which every word is a token."""

    def __init__(self, messages: Sequence[Message]) -> None:
        super().__init__(word for message in messages for word in message.content.split())
        self.messages = list(messages)


@dataclass
class Says:
    """A target that says these lines when it is asked for one, and `Done.` when it is to answer."""

    lines: list[str | Exception]
    cancels: Cancellation | None = None
    context_limit: int = 4000
    prompts: list[Chat] = field(default_factory=list)
    place, host, prefill_tokens_per_s = "cpu", None, None

    def count(self, text: str) -> int:
        return len(text.split())

    def chat_prompt(self, messages: Sequence[Message], tools: object = None, thinking: str = "auto") -> Chat:
        return Chat(messages)

    def thinking_tokens(self, _: Sampling) -> int:
        return 0

    def seconds_to_read(self, _: Chat) -> float:
        return 1.0

    def generate(self, request: Request[Chat]) -> Generation:
        self.prompts.append(request.prompt)
        text: str | Exception = "Done."
        if request.sampling == ONE_LINE:
            text = self.lines.pop(0) if self.lines else "nothing"
            if self.cancels:
                self.cancels.cancel()
        if isinstance(text, Exception):
            raise text
        return Generation(text, "eos", len(request.prompt), 0, 0.0, 0.0, 1, 0.0)

    def close(self) -> None:
        pass


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in SHOP.items():
        file = tmp_path / "root" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path / "root"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(tmp_path / "index.sqlite")) as store:
        yield store


@dataclass
class Asked:
    answer: Answer
    told: list[Kept]
    target: Says

    @property
    def names(self) -> list[str]:
        return [span.name for span in self.answer.spans]


@pytest.fixture
def ask(root: Path, store: Store) -> Any:
    def ask(*lines: str | Exception, question: Question = ASKED, **options: Any) -> Asked:
        effort, cancellation = options.pop("effort", "deep"), options.get("cancels")
        target, told = Says(list(lines), **options), list[Kept]()
        with closing(Assistant(store, Words, lambda: target)) as assistant:  # type: ignore[arg-type, return-value]
            assistant.keys.wait_for(Cancellation())
            assert assistant.target is not None
            assistant.target.wait_for(Cancellation())
            answer = assistant.ask(
                Sources((Folder(root),)),
                question,
                Budget(BUDGET, effort=effort),
                Sampling(max_tokens=8),
                lambda _: None,
                cancellation=cancellation,
                on_kept=told.append,
            )
        return Asked(answer, told, target)

    return ask


def test_what_the_target_names_is_added_and_what_was_kept_stays(ask: Any) -> None:
    before, after = ask(effort="normal"), ask("find_rate, Table")
    assert "find_rate" not in before.names
    assert after.names == ["find_rate", "Table", "Table.row", *before.names]  # by path
    assert all(span in after.answer.spans for span in before.answer.spans)
    assert after.answer.stats.selection.kept_tokens == sum(span.tokens for span in after.answer.spans)


def test_it_is_told_as_it_happens_and_its_time_is_a_stage_of_its_own(ask: Any) -> None:
    asked = ask("find_rate()", "`send_letter`, pay_nobody")
    assert [kept.looking_for for kept in asked.told] == [(), ("find_rate",), ("send_letter",)]
    assert [len(kept.spans) for kept in asked.told] == sorted(len(kept.spans) for kept in asked.told)
    assert {span.name for span in asked.told[-1].spans} == set(asked.names)
    stages = asked.answer.stats.stages
    assert list(stages)[-3:] == ["select", "look_again", "prefill"]
    assert sum(stages.values()) == pytest.approx(asked.answer.stats.ttft_s, abs=0.05)
    assert "look_again" not in ask(effort="normal").answer.stats.stages


def test_every_prompt_goes_on_from_what_was_read_before_it(ask: Any) -> None:
    asked = ask("find_rate", "send_letter")
    first, second, third = (prompt.messages[-1].content for prompt in asked.target.prompts)
    shown = ask(effort="normal").target.prompts[0].messages[-1].content
    assert first.startswith(f"{shown}\n\nDo not answer yet.")
    assert second.startswith(f"{shown}\n\nshop/rates.py\n1 def find_rate")
    assert third.startswith(second[: second.rindex("\n\n")])
    assert [third.count(f"def {name}(") for name in asked.names] == [1, 1, 1]
    assert third.endswith(f"\n\nQuestion: {ASKED.text}")
    assert "Do not answer yet" not in third


@pytest.mark.parametrize(
    "line",
    [
        "nothing",
        "",
        "The function find_rate is missing here",
        "add_tax",  # is shown
        "send_letter.find_rate, url.find_rate",  # it is in neither
        "pay",  # five definitions: nothing tells which one is meant
        "no_such_name, shop/no_such_file.py",
        "../../etc/passwd, /etc/passwd, ~/.ssh/id_rsa, shop/../shop/rates.py",
        "\x1b[31mfind_rate\x1b[0m",
        "find_rate; rm -rf /",
        "x" * 100_000,
    ],
)
def test_a_line_that_names_nothing_new_changes_nothing(ask: Any, line: str) -> None:
    before, after = ask(effort="normal"), ask(line, "find_rate")
    assert after.answer.spans == before.answer.spans
    assert after.target.prompts[-1] == before.target.prompts[-1]
    assert len(after.told) == 1
    assert after.answer.notices == before.answer.notices


@pytest.mark.parametrize("line", ["shop/rates.py", "rates.py", "./shop/rates.py", "- `rates.py`"])
def test_a_file_leads_to_its_units(ask: Any, line: str) -> None:
    asked = ask(line)
    assert {"find_rate", "Table", "Table.row"} <= set(asked.names)
    assert all(path in line for kept in asked.told[1:] for path in kept.looking_for)


@pytest.mark.parametrize("line", ["find_rate", "rates.find_rate", "shop::find_rate", "shop.rates#find_rate(amount)"])
def test_a_name_may_say_where_it_is_defined(ask: Any, line: str) -> None:
    assert "find_rate" in ask(line).names


def test_a_constant_is_a_name_too(ask: Any) -> None:
    assert "shop/limits.py" in [span.path for span in ask("LIMITS").answer.spans]


def test_a_class_with_a_member_leads_to_that_member(ask: Any) -> None:
    assert "Table.row" in ask("Table.row").names
    assert "Table" not in ask("Table.row").names


def test_no_more_is_added_than_there_is_room_for(ask: Any) -> None:
    before, asked = ask(effort="normal"), ask("long, find_rate, Table, send_letter, shop/other.py")
    added = asked.answer.stats.selection.kept_tokens - before.answer.stats.selection.kept_tokens
    assert 40 < added <= BUDGET
    assert "long" not in asked.names
    small = ask("find_rate", context_limit=len(before.target.prompts[-1]) + 12)
    assert small.answer.spans == before.answer.spans


def test_it_is_asked_twice_at_most(ask: Any) -> None:
    asked = ask("find_rate", "send_letter", "Table")
    assert len(asked.target.prompts) == 3
    assert "Table" not in asked.names


@pytest.mark.parametrize("lines", [[TargetError("gone")], ["find_rate", TargetError("gone")]])
def test_a_failure_of_the_second_look_does_not_cost_the_answer(ask: Any, lines: list[str | Exception]) -> None:
    asked = ask(*lines)
    assert asked.answer.text == "Done."
    assert ("find_rate" in asked.names) == (len(lines) > 1)
    assert asked.answer.notices[-1] == "the target could not be asked what it misses: gone"


def test_cancelling_it_cancels_the_question(ask: Any) -> None:
    with pytest.raises(CancelledError):
        ask("find_rate", cancels=Cancellation())
    with pytest.raises(CancelledError):
        ask(CancelledError("cancelled"))


def test_only_code_of_the_paths_asked_about_is_added(ask: Any) -> None:
    question = Question(ASKED.text, paths=("shop/tax.py", "shop/posts.py", "shop/long.py"))
    asked = ask("find_rate, send_letter", question=question)
    assert "send_letter" in asked.names
    assert "find_rate" not in asked.names


def test_a_question_that_goes_on_keeps_what_was_added(ask: Any, root: Path, store: Store) -> None:
    target = Says(["find_rate"])
    with closing(Assistant(store, Words, lambda: target)) as assistant:  # type: ignore[arg-type, return-value]
        for earlier in ((), (Turn(ASKED.text, "Done."),)):
            question = Question(ASKED.text, earlier=earlier)
            sources, budget = Sources((Folder(root),)), Budget(BUDGET, effort="deep")
            answer = assistant.ask(sources, question, budget, Sampling(max_tokens=8), lambda _: None)
            assert "find_rate" in [span.name for span in answer.spans]
    *_, last = target.prompts
    assert [message.role for message in last.messages] == ["system", "user", "assistant", "user"]

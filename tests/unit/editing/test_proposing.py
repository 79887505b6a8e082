"""From a request to a checked edit: what the target is shown, when it may stop, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import Mock

import pytest

from winnow_engine.core import Budget, Cancellation, Sampling, Span, UnitKind
from winnow_engine.editing import proposing
from winnow_engine.editing.proposing import Proposal, propose
from winnow_engine.editing.request import EditKind, WantedEdit
from winnow_engine.errors import (
    AmbiguousCodeError,
    BudgetError,
    CancelledError,
    CutOffError,
    NoCodeError,
    UnchangedError,
)
from winnow_engine.question import Cursor

from .conftest import Scripted, Selecting

FILES = {
    "shop.py": "RATE = 2\n\n\ndef price(count):\n    return rate * count\n",
    "till.py": "from shop import price\n\n\ndef pay(count):\n    return price(count)\n",
}
FIX = "```python\ndef price(count):\n    return RATE * count\n```"
CALLER = Span("till.py", 4, 5, 9, 2.0, UnitKind.FUNCTION, "pay")
ITSELF = Span("shop.py", 4, 5, 9, 3.0, UnitKind.FUNCTION, "price")


def run(
    reading, target: Scripted, spans=(ITSELF, CALLER), kind: EditKind = EditKind.FIX, attempt: int = 0, **more
) -> Proposal:
    assistant = Selecting(reading(FILES), target, spans)
    request = WantedEdit(kind, Cursor("shop.py", 5, 5), ("undefined name `rate`",), attempt)
    return propose(assistant, None, request, Budget(), Sampling(max_tokens=5, stop=("RATE",)), **more)


def test_a_fix_is_proposed_and_nothing_is_written(reading, tmp_path) -> None:
    proposal = run(reading, Scripted(f"Sure.\n{FIX}\nThe name was wrong."))
    assert proposal.edit.after.decode() == FILES["shop.py"].replace("rate", "RATE")
    assert (proposal.title, proposal.sound, proposal.notices) == ("Fix `price`", True, ("a notice",))
    assert proposal.spans == (CALLER,)
    assert (tmp_path / "root" / "shop.py").read_text() == FILES["shop.py"]


@pytest.mark.parametrize("step", [3, 50])
def test_an_answer_is_looked_at_as_a_fence_ends(reading, monkeypatch, step: int) -> None:
    asked = Mock(wraps=proposing.is_enough)
    monkeypatch.setattr(proposing, "is_enough", asked)
    long = FIX.replace("    return", "    count += 1\n" * 40 + "    return")
    target = Scripted(f"{long}\nThe name was wrong.\n{'It was. ' * 20}", step=step)
    run(reading, target)
    assert asked.call_count == 2
    assert len(target.heard) < len(long) + 2 + step


def test_the_target_sees_the_code_around_it_and_the_code_to_change_once(reading) -> None:
    target = Scripted(FIX)
    run(reading, target)
    (request,) = target.asked
    text = request.prompt[-1].content
    assert text.count("def price") == 1
    assert text.index("def pay") < text.index("def price") < text.index("undefined name `rate`")
    assert request.sampling.max_tokens > 200
    assert request.sampling.stop == ()


def test_another_attempt_may_give_another_answer(reading) -> None:
    target = Scripted(FIX)
    for attempt in range(3):
        run(reading, target, attempt=attempt)
    drawn = [one.sampling for one in target.asked]
    assert [(one.temperature > 0, one.seed) for one in drawn] == [(False, 0), (True, 1), (True, 2)]


def test_a_user_who_cancels_gets_no_change(reading) -> None:
    cancellation = Cancellation()
    target = Scripted(FIX)
    generate = target.generate

    def cancelled(request):
        cancellation.cancel()
        assert request.cancellation.cancelled
        with pytest.raises(CancelledError):
            request.cancellation.check()
        return generate(request)

    target.generate = cancelled  # type: ignore[method-assign]
    with pytest.raises(CancelledError):
        run(reading, target, cancellation=cancellation)


@pytest.mark.parametrize(
    ("answer", "error"),
    [("I do not know.", NoCodeError), ("```python\ndef price(count):\n    return rate * count\n```", UnchangedError)],
)
def test_an_answer_that_cannot_be_used_is_refused(reading, answer: str, error: type) -> None:
    with pytest.raises(error):
        run(reading, Scripted(answer))


@pytest.mark.parametrize(
    "answer", ["```python\ndef price(count:\n    return RATE * count\n```", "```python\ndef price(count):\n```"]
)
def test_a_change_that_would_not_parse_can_still_be_looked_at(reading, answer: str) -> None:
    proposal = run(reading, Scripted(answer))
    assert proposal.sound is False
    assert proposal.edit.diff


SECTION, FIXED = (f"# Use\n\n```sh\n{name}\n```\n\nRead it.\n" for name in ("winow", "winnow"))


@pytest.mark.parametrize("fence", ["```", "````", "~~~"])
def test_code_with_fences_of_its_own_is_replaced_whole(reading, fence: str) -> None:
    target = Scripted(f"Fixed:\n{fence}markdown\n{FIXED}{fence}\n")
    assistant = Selecting(reading({"a.md": SECTION}), target)
    request = WantedEdit(EditKind.FIX, Cursor("a.md", 4, 4), ("no `winow`",))
    assert propose(assistant, None, request, Budget(), Sampling()).edit.after.decode() == FIXED
    assert f"````markdown\n{SECTION}````" in target.asked[0].prompt[-1].content
    for target.answer in (FIXED, "winnow\n", "```sh\nwinnow\n```", f"```markdown\n{FIXED}"):
        with pytest.raises(NoCodeError):
            propose(assistant, None, request, Budget(), Sampling())


PLAIN = "# Use\n\n    winnow\n\nRead it.\n"
MORE = FIXED.replace("Read it.", "Then:\n\n```sh\nwinnow ask\n```\n\nRead it.")


@pytest.mark.parametrize(("before", "after"), [(SECTION, MORE), (SECTION, PLAIN), (PLAIN, FIXED), (PLAIN, MORE)])
def test_a_block_within_comes_or_goes_where_its_fences_name_a_language(reading, before: str, after: str) -> None:
    target = Scripted(f"Fixed:\n```markdown\n{after}```\n")
    assistant = Selecting(reading({"a.md": before}), target)
    request = WantedEdit(EditKind.FIX, Cursor("a.md", 3, 3), ("no `winow`",))
    assert propose(assistant, None, request, Budget(), Sampling()).edit.after.decode() == after
    cut = f"```markdown\n{MORE}"
    for target.answer in (cut, cut[:50], f"```md\n{MORE}```\n```", f"{cut}```\n```sh\nls\n```", f"```\n{MORE}```\n```"):
        with pytest.raises(NoCodeError):
            propose(assistant, None, request, Budget(), Sampling())


def test_two_versions_are_refused(reading) -> None:
    class Deaf(Scripted):
        def generate(self, request):
            return super().generate(replace(request, on_text=lambda _: None))

    with pytest.raises(AmbiguousCodeError):
        run(reading, Deaf(f"{FIX}\nor\n{FIX.replace('RATE', '2')}"))


def test_code_around_it_is_left_out_where_the_context_is_small(reading) -> None:
    target = Scripted(FIX, context_limit=180)
    assert run(reading, target, spans=(ITSELF, CALLER)).spans == (CALLER,)
    small = next(limit for limit in range(60, 180) if _spans(reading, limit) == ())
    with pytest.raises(BudgetError, match="does not fit the target's context"):
        run(reading, Scripted(FIX, context_limit=small // 2))


def _spans(reading, limit: int) -> tuple[Span, ...] | None:
    try:
        return run(reading, Scripted(FIX, context_limit=limit)).spans
    except BudgetError:
        return None


def test_an_answer_that_was_cut_off_is_refused(reading) -> None:
    with pytest.raises(CutOffError, match="cut off"):
        run(reading, Scripted("```python\ndef price(count):\n    return RATE", finish="length"))

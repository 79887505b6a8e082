import pytest

from winnow_engine.targets.base import Generation
from winnow_engine.targets.repetition import RepetitionGuard


def heard(text: str, piece: int = 3) -> tuple[str, bool]:
    """What is passed on of a text that comes in pieces of so many characters, and whether it was ended."""
    passed: list[str] = []
    stopped: list[bool] = []
    guard = RepetitionGuard(passed.append, lambda: stopped.append(True))
    for at in range(0, len(text), piece):
        guard.feed(text[at : at + piece])
    generation = guard.ended(Generation(text, "length", 1, 0, 0.0, 0.0, 1, 0.0))
    assert generation.text == "".join(passed).rstrip() or not stopped
    assert generation.finish == ("stop" if stopped else "length")
    return "".join(passed), bool(stopped)


ONCE = "`parse` reads the header of a file. It raises an error if there is none."


@pytest.mark.parametrize("piece", [1, 3, 1000])
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"{ONCE} `parse` reads the header of a file. And on it goes", ONCE),
        (f"{ONCE}\n\n- It raises an error if there is none.\n", f"{ONCE}\n\n"),
        (f"````sh\nls\n```\n{ONCE} {ONCE}", f"````sh\nls\n```\n{ONCE}"),
        (f"```sh\nls\n``` That is it.\n{ONCE}\n{ONCE}", f"```sh\nls\n``` That is it.\n{ONCE}\n"),
        (f"```md\n```sh\nls\n```\n```\n{ONCE} {ONCE}", f"```md\n```sh\nls\n```\n```\n{ONCE}"),
        (f"```sh\nls\n```sh\n{ONCE}\n{ONCE}", f"```sh\nls\n```sh\n{ONCE}\n"),
        (f"{ONCE}\n## Steps\n- {ONCE}", f"{ONCE}\n## Steps\n"),
        (f"## Steps\n- {ONCE}\n- {ONCE}", f"## Steps\n- {ONCE}\n"),
        ("1. one two three four five\n2. six seven eight nine ten\n3. one two three four five\n", None),
        (
            "检查折扣是否已经过期的函数。然后返回。检查折扣是否已经过期的函数。",
            "检查折扣是否已经过期的函数。然后返回。",
        ),
    ],
)
def test_the_copy_of_a_sentence_or_item_ends_the_answer_unseen(text: str, kept: str | None, piece: int) -> None:
    said, stopped = heard(text, piece)
    assert stopped
    assert said == (kept if kept is not None else text[: text.index("3.")])


BLOCK = "def f():\n    return compute(value)\n\n"
LED = "**Here is how it is used:**\n\n```\n"
JS = f"```js\n{ONCE}\n```\n"
CODE = f"```python\n{BLOCK * 3}```\n"


@pytest.mark.parametrize(
    "text",
    [
        f"{ONCE} It raises an error if there is nothing.",
        "".join(f"## {name}\n\n**Methods:**\n- `a`: b\n- returns None on bad input\n\n" for name in ("Eins", "Zwei")),
        "".join(f"- `{name}`:\n  - returns None on bad input\n" for name in ("Eins", "Zwei", "Drei")),
        CODE,
        f"{ONCE}\n```\n`parse` reads the header of a file.\n```",
        "- `a`: the name of the file to be read\n- `b`: the name of the file to be read\n",
        f"```ls``` first:\n```\n{ONCE}\n{ONCE}\n```",
        f"{LED}x = parse(a)\n```\n{LED}y = parse(b)\n```\n",
        f"**Fix:** {JS}Or:{JS}````md\n{JS}And:\n{JS}````\n",
        "".join(f"**Rückgabewert:**\nA list of {n}.\n" for n in range(9)),
        "### How it is used in code\nBy hand.\n### How it is used in code\nBy `main`.\n### How it is used in code\n",
        "Run:\n```sh\nnpm run build\n```\n**Returns:**\nA list of strings.\n" * 2,
        "It is a, b. It is c. It is a, b. See a.py. See b.py. See a.py! Yes? No. Yes? No end",
        f"```c\n/* {'-' * 300} */\nint zeros[] = {{{'0, ' * 100}}};\n```\n",
        f"| a{' ' * 80}| b |\n| {'-' * 90} | {'- ' * 90}|\n",
    ],
)
def test_all_else_passes_as_it_is(text: str) -> None:
    assert heard(text) == (text, False)


@pytest.mark.parametrize("before", ["```python\n", ""])
def test_code_that_goes_round_in_circles_ends_in_its_fourth_round(before: str) -> None:
    said, stopped = heard(f"{before}{BLOCK * 30}")
    assert (said.count("def f"), stopped) == (4, True)


@pytest.mark.parametrize("round_", ["```py\nx = parse(a)\n", "Or:\n```py\nx = parse(a)\n```\n\n"])
def test_blocks_that_come_again_and_again_end_in_their_fourth_round(round_: str) -> None:
    said, stopped = heard(round_ * 9)
    assert (said.count("```py"), stopped) == (4, True)


@pytest.mark.parametrize(
    ("parts", "kept"),
    [
        ([f"{LED}x = parse(a)\n```\n"] * 3, 2),
        ([f"{LED}x = parse({n})\n```\n" for n in range(20)], 16),
        ([f"## How it is used in code\n\n{ONCE}\n\n"] * 2, 1),
        ([f"- The task {n % 10} has these steps:\n" for n in range(20)], 10),
        ([f"#{n % 10} is the issue that shows this.\n" for n in range(20)], 10),
    ],
)
def test_headings_and_lead_ins_do_not_come_again_without_end(parts: list[str], kept: int) -> None:
    assert heard("".join(parts)) == ("".join(parts[:kept]), True)


@pytest.mark.parametrize(
    ("part", "shown"), [("- prints what was read before\n", 8), ("```\nprint(parse(a), b)\nparse(b).c\n```\n", 17)]
)
def test_an_item_or_block_does_not_come_again_without_end_below_other_headings(part: str, shown: int) -> None:
    said, stopped = heard("".join(f"## Use {n}\n\n{part}" for n in range(20)))
    assert (said.count("print"), stopped) == (shown, True)


def test_a_sentence_without_an_end_that_goes_round_is_ended() -> None:
    said, stopped = heard("It calls first, then second, " + "then third, then fourth, " * 100)
    assert stopped
    assert len(said) < 200


@pytest.mark.parametrize(
    ("length", "copies", "ended"), [(12, 4, True), (160, 4, True), (11, 4, False), (161, 4, False), (160, 3, False)]
)
def test_a_run_of_12_to_160_characters_ends_an_answer_in_its_fourth_copy(length: int, copies: int, ended: bool) -> None:
    run = "".join(chr(0x100 + at) for at in range(length))
    before = "".join(chr(0x1000 + at) for at in range(20_000))  # on one line: it is looked at piece by piece
    assert heard(before + run * copies, 40) == (before + run * copies, ended)


@pytest.mark.parametrize("run", ["-", "x", "0, "])
def test_a_rule_that_does_not_end_is_ended(run: str) -> None:
    said, stopped = heard(run * 1000)
    assert stopped
    assert len(said) < 420


def test_a_beginning_that_was_said_is_held_back_until_it_differs() -> None:
    passed: list[str] = []
    guard = RepetitionGuard(passed.append, lambda: None)
    guard.feed("It reads the header of files. It reads the head")
    assert "".join(passed) == "It reads the header of files."
    guard.feed("line")
    assert "".join(passed).endswith(" It reads the headline")

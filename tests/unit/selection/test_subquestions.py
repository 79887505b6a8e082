import pytest

from winnow_engine.selection.subquestions import subquestions_of

DIFF = "Why does this fail?\n```\n- how is it filled\n- where is it cleared?\n```"
ODD = ["\n", " \n", "why is it\nfoo a b\n", "\n  x", "- ", "?\n", "1.\n", "(1) (2) ", "? \n \n"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How is X read, and where is it written?", ()),
        ("It fails with an error. Where is that raised? Who catches it?", ()),
        ("Which code: (1) opens a log; (2) closes all of them?", ("opens a log", "closes all of them?")),
        ("1. How is it parsed?\n2. Where is it tested?", ("How is it parsed?", "Where is it tested?")),
        ("Some questions:\n- how is it filled\n\n- where is it cleared?", ("how is it filled", "where is it cleared?")),
        ("How is it parsed?\nWhere is it tested?", ("How is it parsed?", "Where is it tested?")),
        ("折扣在哪里检查？\n缓存什么时候失效？", ("折扣在哪里检查？", "缓存什么时候失效？")),
        ("Where is it pushed?\n`Error.format_message`?", ("Where is it pushed?", "`Error.format_message`?")),
        ("- `Pool`?\n- How does it grow?\n- On GitHub.", ()),
        ("Why?\nWhere is the retry handled?", ()),
        ("Hi all,\nhow is it filled?\nThanks in advance for your help.", ()),
        ("Why does it stop?\n" + "- this line of a pasted log went wrong\n" * 100, ()),
        ("What do `a; b the c; what is d` and foo (1) return when called?", ()),
        (DIFF, ()),
        ("", ()),
    ],
)
def test_a_list_falls_into_its_entries(question: str, expected: tuple[str, ...]) -> None:
    assert subquestions_of(question) == expected


@pytest.mark.parametrize("part", ODD)
def test_odd_texts_are_read_in_linear_time(part: str) -> None:
    question = part * 50_000 + "Where is it cleared?"
    assert len(subquestions_of(question)) <= 8

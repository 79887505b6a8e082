import pytest

from winnow_engine.selection.subquestions import subquestions_of

READ = ("how is it filled", "where is it cleared?")
TRACE = "Error: it is empty\n    at Pool.take (/app/pool.js:20:3)\n    at run; at main (main.js:1:1)"
WHY = ("How is it parsed, and why?", "Where is it tested, and how?")
ODD = ["\n", " \n", "why is it\nfoo a b\n", "\n  x", "„", "e.g. ", "etc. ", "1.\n", "no.  ", "e.g. a. ", "etc. no.  "]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How is X read, and where is it written?", ("How is X read", "where is it written?")),
        ("Which code: (1) opens a log; (2) closes all of them?", ("opens a log", "closes all of them?")),
        ("How is Dr. Watson's list, on p. 5, No. 7 of Mr. Holmes in the U.S. edition, read for St. Ives?", ()),
        ("It waits 5 ms. Where is it set, at 5 p.m. too?", ("It waits 5 ms.", "Where is it set, at 5 p.m. too?")),
        ("It fails with an error. Where is that raised?", ("It fails with an error.", "Where is that raised?")),
        ("Where is it pushed? `Error.format_message`?", ("Where is it pushed?", "`Error.format_message`?")),
        ("`Pool`? How does it grow? On GitHub.", ()),
        (f"{TRACE}\nwhat is wrong here?", (TRACE, "what is wrong here?")),
        ("Why? Where is the retry handled?", ()),
        ("", ()),
        ("Why does it stop?\n" + "this line of a pasted log went wrong\n" * 100, ()),
        ("How are headers, i.e. Content-Type, e.g. of v. 2 forms, told vs. all Accept, etc. by both sides?", ()),
        ('It says "Failed. Retry it later. Why not", and stops there', ()),
        ("What do `a; b the c; what is d` and foo (1) return when called?", ()),
        ("Where is this set:\n```\nx = 1 + 2 + 3\n\ny = 2. Why not so\n```", ()),
        ("I'm new here. Where is hello, world printed, and why is it? Thanks a lot,\nBob", ()),
        ("Hi all,\nhow is it filled and where is it cleared? Thanks in advance for your help.", READ),
        ("How is it parsed, and why? Where is it tested, and how?", WHY),
        ("1. How is it parsed?\n2. Where is it tested?", ("How is it parsed?", "Where is it tested?")),
        ("Where is the cache, which holds all tokens, cleared?", ()),
        ("折扣在哪里检查？缓存什么时候失效？", ("折扣在哪里检查？", "缓存什么时候失效？")),
        ("Wie wird X gelesen und wo wird X geschrieben?", ("Wie wird X gelesen", "wo wird X geschrieben?")),
    ],
)
def test_a_question_falls_into_what_it_asks_for(question: str, expected: tuple[str, ...]) -> None:
    assert subquestions_of(question) == expected


@pytest.mark.parametrize("part", ODD)
def test_odd_texts_are_read_in_linear_time(part: str) -> None:
    question = part * 50_000 + "Where is it cleared?"
    assert len(subquestions_of(question)) <= 8

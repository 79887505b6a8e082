"""What plain clients show."""

from pathlib import Path

from winnow_engine.core import Citation, Sentence, Span, UnitKind
from winnow_engine.review.review import FileSummary, Review
from winnow_engine.selection.ranking import Selection, SelectionStats
from winnow_engine.targets.answer import Answer, Stats
from winnow_engine.targets.base import Generation
from winnow_lsp.server.render.markdown import answer_page, review_page, spans_page
from winnow_lsp.server.session.editor import Folders

LOCATE = Folders({Path("/w"): "w"}).location


def selected(*spans: Span) -> Selection:
    return Selection(None, spans, SelectionStats(25000, 1040, 25000), ("odd",))  # type: ignore[arg-type]


def answered(*citations: Citation, sentences: tuple[Sentence, ...] = ()) -> Answer:
    generation, selection = Generation("It adds two numbers up.", "eos", 0, 0, 0.0, None, 0, 0.0), selected()
    return Answer(selection, Stats(selection.stats, generation, {}, 0.0, {}, None, None), sentences, citations)


def span(score: float, path: str, lines: tuple[int, int], kind: UnitKind, name: str) -> Span:
    return Span(path, *lines, 40, score, kind, name, {"words": 1.25, "names": 0.0, "maxsim": -0.5})


def test_citations_are_links_that_open_at_their_line() -> None:
    page = answer_page("Q", answered(Citation("my file.py", 3, 9), Citation("b.py", 4, 4)), LOCATE)
    assert "- [my file.py:3-9](file:///w/my%20file.py#L3)\n- [b.py:4](file:///w/b.py#L4)\n" in page


def test_cited_lines_that_only_a_commit_has_are_named_after_those_of_today() -> None:
    before, today = Citation("my file.py", 3, 9, "1a2b3c4d5e6f"), Citation("b.py", 4, 4)
    cited, gone = "[b.py:4](file:///w/b.py#L4)", "`1a2b3c4d5e:my file.py:3-9`"
    assert f"## Cited\n\n- {cited}\n- {gone}\n" in answer_page("Q", answered(before, today), LOCATE)
    noted = answered(before, today, sentences=(Sentence(0, 23, (before, today)),))
    assert f"## Cited\n\n- [1] {cited}, {gone}\n" in answer_page("Q", noted, LOCATE)


def test_spans_come_best_first_and_say_why() -> None:
    worse = span(-0.5, "README.md", (1, 1), UnitKind.SECTION, "")
    better = span(2, "a.py", (3, 9), UnitKind.FUNCTION, "add")
    page = spans_page("Q", selected(worse, better), LOCATE)
    assert "1,040 of 25,000 tokens kept." in page
    best, other = (line for line in page.splitlines() if line.startswith("- ["))
    link = "[a.py:3-9](file:///w/a.py#L3)"
    assert best == f"- {link} · function `add` · 40 tokens · score +2.00 (words +1.2, maxsim -0.5)"
    assert other.startswith("- [README.md:1](file:///w/README.md#L1) · section · 40 tokens · score -0.50")
    assert "- odd" in page


def test_names_are_no_markdown() -> None:
    picture = "a`![x](https://evil.example/x.png)`"
    page = spans_page("Q", selected(span(1, "x](https:evil) [y.py", (1, 1), UnitKind.FUNCTION, picture)), LOCATE)
    link = "[x\\](https:evil) \\[y.py:1](file:///w/x%5D%28https%3Aevil%29%20%5By.py#L1)"
    assert f"- {link} · function `` {picture} `` · 40 tokens" in page
    found = Review("A change", (FileSummary(picture, "changed", 1, 0, ()),), "", (), 0)
    assert f"- `` {picture} `` changed, +1 -0" in review_page(found, LOCATE)

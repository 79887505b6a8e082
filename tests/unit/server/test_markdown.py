"""What plain clients show."""

from typing import Any

from lsprotocol import types

from winnow_lsp.server.render.markdown import answer_page, review_page, spans_page


def location(uri: str, first: int, last: int) -> types.Location:
    return types.Location(uri, types.Range(types.Position(first - 1, 0), types.Position(last, 0)))


def answered(**fields: Any) -> dict[str, Any]:
    return {"answer": "It adds.", "finish": "eos", "sentences": [], "citations": [], "notices": []} | fields


def span(score: float, **fields: Any) -> dict[str, Any]:
    return {
        "location": location("file:///w/a.py", 3, 9),
        "score": score,
        "features": {"words": 1.25, "names": 0.0, "maxsim": -0.5},
        "tokens": 40,
        "kind": "function",
        "name": "add",
    } | fields


def test_citations_are_links_that_open_at_their_line() -> None:
    cited = [location("file:///w/my%20file.py", 3, 9), location("file:///w/b.py", 4, 4)]
    page = answer_page("Q", answered(citations=cited))
    assert "- [my file.py:3-9](file:///w/my%20file.py#L3)\n" in page
    assert "- [b.py:4](file:///w/b.py#L4)\n" in page


def test_cited_lines_that_only_a_commit_has_are_named() -> None:
    before = [{"location": location("file:///w/my%20file.py", 3, 9), "commit": "1a2b3c4d5e6f"}]
    page = answer_page("Q", answered(citations=[location("file:///w/b.py", 4, 4)], citedBefore=before))
    assert "## Cited\n\n- [b.py:4](file:///w/b.py#L4)\n- `1a2b3c4d5e:my file.py:3-9`\n" in page


def test_spans_come_best_first_and_say_why() -> None:
    worse = span(-0.5, kind="section", name="", location=location("file:///w/README.md", 1, 1))
    stats = {"keptTokens": 1040, "workspaceTokens": 25000}
    page = spans_page("Q", {"spans": [worse, span(2)], "stats": stats, "notices": ["odd"]})
    assert "1,040 of 25,000 tokens kept." in page
    best, other = (line for line in page.splitlines() if line.startswith("- ["))
    link = "[a.py:3-9](file:///w/a.py#L3)"
    assert best == f"- {link} · function `add` · 40 tokens · score +2.00 (words +1.2, maxsim -0.5)"
    assert other.startswith("- [README.md:1](file:///w/README.md#L1) · section · 40 tokens · score -0.50")
    assert "- odd" in page


def test_names_are_no_markdown() -> None:
    picture = "a`![x](https://evil.example/x.png)`"
    odd = location("file:///w/x%5D%28https%3Aevil%29%20%5By.py", 1, 1)
    stats = {"keptTokens": 1, "workspaceTokens": 2}
    page = spans_page("Q", {"spans": [span(1, name=picture, location=odd)], "stats": stats, "notices": []})
    assert f"- [x\\](https:evil) \\[y.py:1]({odd.uri}#L1) · function `` {picture} `` · 40 tokens" in page
    file = {"path": picture, "what": "changed", "added": 1, "removed": 0}
    found = {"title": "A change", "summary": "", "files": [file], "findings": []}
    assert f"- `` {picture} `` changed, +1 -0" in review_page(found)

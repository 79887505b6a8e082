import json
from collections.abc import Callable
from pathlib import Path

import git_repositories as git
import pytest
from attributed import cite
from git_repositories import sources_of

from winnow_engine.changes.question import asked_changes, with_change
from winnow_engine.core import Cancellation, Citation, Span, UnitKind
from winnow_engine.index.workspace import Workspace
from winnow_engine.prompting.attribution import Attribution
from winnow_engine.prompting.layout import build_messages, continued_messages
from winnow_engine.question import Change, Question
from winnow_engine.selection.shown_change import spans_shown, units_shown

FILES = {
    "shop/basket.py": (
        "def total_price(items):\n    return sum(item.price for item in items)\n\n\ndef empty():\n    return []\n"
    ),
    "shop/orders.py": "from shop.basket import total_price\n\n\ndef checkout(items):\n    return total_price(items)\n",
    "shop/other.py": "def nothing():\n    return 0\n",
    "tests/test_basket.py": "def test_total():\n    assert total_price([]) == 0\n",
}


@pytest.fixture
def top(tmp_path: Path) -> Path:
    top = git.new(tmp_path / "repository")
    git.commit(top, "one", dict(FILES))
    return top


@pytest.fixture
def asked(read: Callable[..., Workspace]) -> Callable[..., tuple[Workspace, Change]]:
    """A question about what changed at a folder."""

    def asking(root: Path, words: str = "") -> tuple[Workspace, Change]:
        workspace, question = read(root), Question("What could this break?", changes=words)
        found = asked_changes(question, sources_of(root), workspace, Cancellation())
        change = with_change(question, found, workspace, lambda text: len(text.split())).change
        assert change is not None
        return workspace, change

    return asking


Asked = Callable[..., tuple[Workspace, Change]]


def edit(top: Path) -> None:
    git.write(top, {"shop/basket.py": FILES["shop/basket.py"].replace("item.price for item", "item.cost for item")})


def test_the_target_sees_lines_before_and_after_with_the_place_to_cite(top: Path, asked: Asked) -> None:
    edit(top)
    _, change = asked(top)
    assert change.shown[0].text.splitlines()[1:] == [
        "",
        "shop/basket.py (changed)",
        "@@ shop/basket.py:1-4 total_price",
        " def total_price(items):",
        "-    return sum(item.price for item in items)",
        "+    return sum(item.cost for item in items)",
        " ",
        " ",
        "Used by: shop/orders.py:4 (total_price)",
        "Tested by: tests/test_basket.py:1 (total_price)",
    ]
    place = Citation("shop/basket.py", 2, 2, git.head(top))
    assert change.removed == (("    return sum(item.price for item in items)", place),)


def test_of_a_notebook_the_code_that_changed_is_shown_and_no_outputs(top: Path, asked: Asked) -> None:
    def notebook(result: int, outputs: int) -> str:
        source = ["def mean(values):\n", f"    return {result}"]
        cell = {"cell_type": "code", "outputs": [{"text": ["out\n"] * outputs}], "source": source}
        return json.dumps({"cells": [cell]}, indent=1)

    git.commit(top, "notebook", {"a.ipynb": notebook(1, 0)})
    git.write(top, {"a.ipynb": notebook(2, 90)})
    _, change = asked(top)
    lines = change.shown[0].text.splitlines()
    assert [line for line in lines if line.startswith(("-", "+")) and line[1:]] == ["-    return 1", "+    return 2"]
    assert len(lines) < 15


def test_callers_and_tests_gain_most(top: Path, asked: Asked) -> None:
    edit(top)
    workspace, change = asked(top)
    gains = {(file.path, unit.name): gain for (file, unit), gain in zip(workspace.units, change.related, strict=True)}
    least = min(gains["shop/orders.py", "checkout"], gains["tests/test_basket.py", "test_total"])
    assert least > gains["shop/basket.py", "empty"] + 3 > gains["shop/other.py", "nothing"] + 3
    assert gains["shop/basket.py", "total_price"] == 0


def test_the_callers_of_a_removed_function(top: Path, asked: Asked) -> None:
    git.write(top, {"shop/basket.py": "def empty():\n    return []\n"})
    _, change = asked(top)
    assert "@@ shop/basket.py total_price (removed)" in change.shown[0].text
    assert "Used by: shop/orders.py:4 (total_price)" in change.shown[0].text


def test_lines_after_an_older_commit_are_numbered_as_they_are_now(top: Path, asked: Asked) -> None:
    edit(top)
    git.commit(top, "cost")
    git.write(top, {"shop/basket.py": "import os\n\n\n" + (top / "shop/basket.py").read_text()})
    _, change = asked(top, "HEAD")
    assert "@@ shop/basket.py:4-7 total_price" in change.shown[0].text
    git.write(top, {"shop/basket.py": "import os\n"})
    _, change = asked(top, "HEAD")
    assert "@@ shop/basket.py total_price" in change.shown[0].text
    assert change.shown[0].places == ()


def test_of_a_change_that_no_target_reads_code_is_shown_first(top: Path, asked: Asked) -> None:
    long = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(8000))
    git.write(top, {"a.md": "# Title\n" * 20000, "shop/basket.py": FILES["shop/basket.py"] + long})
    _, change = asked(top)
    assert not any(shown.complete for shown in change.shown)
    texts = [shown.text for shown in change.shown]
    limits = (400_300, 30_300, 10_300, 3_300, 1_300)
    assert all(len(text) < limit for text, limit in zip(texts, limits, strict=True))
    assert all("shop/basket.py" in text.splitlines()[2] for text in texts[:-1])
    assert len(texts[1]) > 25_000


def test_the_prompt_shows_a_changed_unit_once(top: Path, asked: Asked) -> None:
    edit(top)
    workspace, change = asked(top)
    shown = change.shown[0]
    spans = tuple(spans_shown(shown, workspace, (), len, 1.0))
    places = [(span.path, span.start_line, span.end_line, span.name) for span in spans]
    assert places == [("shop/basket.py", 1, 4, "total_price")]
    question = Question("What could this break?")
    text = build_messages(workspace, spans, question, shown)[-1].content
    assert text.count("def total_price") == 1
    assert text.startswith("What changed: ")
    assert text.endswith("\n\nQuestion: What could this break?")
    said = build_messages(workspace, spans, question, shown)
    assert "What changed" not in continued_messages(said, workspace, spans, question, shown)[-1].content
    assert "What changed" in continued_messages([], workspace, spans, question, shown)[-1].content
    assert [workspace.units[unit][1].name for unit in units_shown(shown, workspace)] == ["total_price"]


def test_removed_lines_are_cited_in_their_commit(top: Path, asked: Asked) -> None:
    edit(top)
    workspace, change = asked(top)
    spans = tuple(spans_shown(change.shown[0], workspace, (), len, 1.0))
    answer = "```diff\n-    return sum(item.price for item in items)\n+    return sum(item.cost for item in items)\n```"
    before, after = cite(answer, workspace, spans, change)
    assert (before.path, before.start_line, before.end_line, before.commit) == ("shop/basket.py", 2, 2, git.head(top))
    assert (after.path, after.start_line, after.commit) == ("shop/basket.py", 2, "")


def test_removed_lines_are_cited_in_the_commit_of_their_own_repository(
    top: Path, read: Callable[..., Workspace], tmp_path: Path
) -> None:
    gone = "def total_of_others(items):\n    return add(items)\n"
    other = git.new(tmp_path / "other")
    git.commit(other, "others", {"gone.py": gone})
    git.git(top, "submodule", "--quiet", "add", str(other), "sub")
    git.commit(top, "submodule")
    git.commit(top / "sub", "within", {"gone.py": f"{gone}# of the submodule\n"})
    for one in (other, top / "sub"):
        git.git(one, "rm", "--quiet", "gone.py")
    sources, workspace = sources_of(top, other), read(top, other)
    for words, paths in (
        ("", {"other/gone.py": other, "repository/sub/gone.py": top / "sub"}),
        ("staged", {"other/gone.py": other}),
    ):
        found = asked_changes(Question("?", changes=words), sources, workspace, Cancellation())
        change = with_change(Question("?"), found, workspace, len).change
        assert change is not None
        commits = {place.path: place.commit for _, place in change.removed}
        assert commits == {path: git.head(one) for path, one in paths.items()}


@pytest.mark.parametrize(
    ("sentence", "cited"),
    [
        (
            "`empty` is left, and `old_total` is gone.",
            [("shop/basket.py", 5, 7, True), ("shop/basket.py", 1, 2, False)],
        ),
        ("What it added up were prices of all the items of a basket.", [("shop/basket.py", 5, 7, True)]),
        ("Nobody needs `None` or `return` any more in this file.", []),
        ("What it added up were prices of other items.", []),
    ],
)
def test_a_sentence_about_removed_code_cites_it(
    top: Path, asked: Asked, sentence: str, cited: list[tuple[str, int, int, bool]]
) -> None:
    empty = "def empty():\n    return []\n"
    gone = 'def old_total(items):\n    """Prices of all the items."""\n    return add(items) or None\n'
    before = git.commit(top, "old", {"shop/basket.py": f"{empty}\n\n{gone}"})
    git.write(top, {"shop/basket.py": empty})
    workspace, change = asked(top)
    spans = (Span("shop/basket.py", 1, 2, 9, 1.0, UnitKind.FUNCTION, "empty"),)
    found = Attribution(workspace, spans, change=change).of(sentence, 0)
    assert [(one.path, one.start_line, one.end_line, one.commit == before) for one in found.places] == cited
    assert found.unknown == ()

"""Questions about a project as a whole, in seven languages, and the files that are kept for them."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Cancellation, Folder
from winnow_engine.index.workspace import Sources, read_workspace
from winnow_engine.question import Cursor, Question, Turn
from winnow_engine.selection.overview import asks_for_overview, overview_units, starter_questions
from winnow_engine.storage.store import Store

from .words import Words

OVERVIEW = """What does this do?|What does it do?|Where does it start?|How is it built and tested?
Which modules are there?
Walk me through the codebase.|Hi, could you explain what this app is about? Thanks!|How do I install and run it locally?
Was macht das hier?|Wo fängt es an?|Wie wird es gebaut und getestet?|Welche Module gibt es?|Wozu dient dieses Programm?
¿Qué hace este proyecto?|¿Dónde empieza?|¿Cómo se compila y se prueba?|¿Qué módulos hay?|¿Cuál es el punto de entrada?
Que fait ce projet ?|Où commence-t-il ?|Comment le compiler et le tester ?|Quels modules y a-t-il ?
À quoi sert ce dépôt ?
Что это делает?|Где точка входа?|Как его собрать и протестировать?|Какие модули есть?|Как устроен код?
これは何をするものですか？|どこから始まりますか？|どうやってビルドしてテストしますか？|どんなモジュールがありますか？
这个项目是做什么的？|它从哪里开始？|如何构建和测试？|有哪些模块？"""
SPECIFIC = """Where is the retry policy set?|What does `main` do?|What does main() do?|Which modules import the logger?
Thanks!|How is the cache built?|What does the scheduler do?|Was macht der Parser?|¿Dónde se valida el campo?|Why?
Que fait le planificateur ?|Где проверяется подпись?|割引はどこで計算されますか？|折扣在哪里检查？
How does Python 2 start?"""


def lines(text: str) -> list[str]:
    return text.replace("\n", "|").split("|")


@pytest.mark.parametrize("text", lines(OVERVIEW))
def test_questions_about_the_whole(text: str) -> None:
    assert asks_for_overview(Question(text))


@pytest.mark.parametrize("text", lines(SPECIFIC))
def test_questions_that_name_something(text: str) -> None:
    assert not asks_for_overview(Question(text))


def test_what_was_said_before_or_stands_at_the_cursor_may_be_meant() -> None:
    earlier = (Turn("How does the parser work?", "It reads tokens."),)
    assert not asks_for_overview(Question("Where does it start?", earlier=earlier))
    assert asks_for_overview(Question("Where does the program start?", earlier=earlier))
    assert not asks_for_overview(Question("What does this do?", Cursor("a.py", 1, 1)))
    assert asks_for_overview(Question("What does this project do?", Cursor("a.py", 1, 1)))


@pytest.mark.parametrize("look", [0, 200])
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("What does this do?", {"README.md", "pyproject.toml"}),
        ("Where does it start?", {"src/tax/tool.py", "src/tax/__main__.py", "pyproject.toml", "README.md"}),
        ("How is it built and tested?", {"README.md", "pyproject.toml", "Makefile"}),
        ("Which modules are there?", {"README.md", "src/tax/__init__.py"}),
    ],
)
def test_the_files_that_tell_are_kept(tmp_path: Path, text: str, wanted: set[str], look: int) -> None:
    files = {
        "README.md": "# Tax\n\nAdds taxes.\n",
        "pyproject.toml": '[project]\nname = "tax"\nscripts.tax = "tax.tool:run"\n',
        "src/tax/tool.py": "def run():\n    print(2)\n",
        "Makefile": "test:\n\tpytest\n",
        "src/tax/__init__.py": '"""Taxes."""\n',
        "src/tax/__main__.py": "def main():\n    print(1)\n",
        **{f"src/tax/m{n}.py": "def step(value):\n" + "    value = value + 1\n" * 9 for n in range(20)},
    }
    for path, content in files.items():
        (tmp_path / "root" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / path).write_text(content)
    drafter: Any = Words
    with closing(Store(tmp_path / "index.sqlite")) as store, closing(Assistant(store, drafter)) as assistant:
        sources, budget = Sources((Folder(tmp_path / "root"),)), Budget(60, first_look_tokens=look)
        selection = assistant.select(sources, Question(text), budget)
    assert wanted <= {span.path for span in selection.spans}
    assert not any("seems to answer" in notice for notice in selection.notices)


def test_starter_questions_are_made_of_what_there_is(tmp_path: Path) -> None:
    files = {
        "README.md": '<img src="logo.svg">\n\n[![Build](https://ci/b)](https://ci)\n\n# Tax\n\nAdds taxes.\n',
        "pyproject.toml": "".join(f"[part{n}]\nvalue = {n}\n\n" for n in range(60)) + "[tool.pytest]\nverbose = 1\n",
        "src/rate.py": "class TaxRate:\n    pass\n\ndef range(value):\n    return value\n\ndef of_none():\n    pass\n",
        **{f"src/m{n}.py": "def step():\n    return TaxRate(), range(3)\n" for n in range(3)},
        "tests/test_rate.py": "def test_one():\n    assert TaxRate()\n",
    }
    for path, content in files.items():
        (tmp_path / "root" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / path).write_text(content)
    with closing(Store(tmp_path / "index.sqlite")) as store:
        workspace = read_workspace(Sources((Folder(tmp_path / "root"),)), store, Cancellation())
        found = starter_questions(workspace, Cancellation())
        units = overview_units(workspace, Question("What does this repository do?"))
    assert workspace.units[units[0]][1].start_line == 5  # not the logo
    tests = overview_units(workspace, Question("How do I run its tests?"))
    assert "pytest" in workspace.units[tests[0]][0].text_of(workspace.units[tests[0]][1])
    assert found == ["What does this repository do?", "How do I run its tests?", "How does `TaxRate` work?"]

"""Questions about a project as a whole, in seven languages, and the files that are kept for them."""

from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from git_repositories import write

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Cancellation, Folder
from winnow_engine.index.workspace import Sources, read_workspace
from winnow_engine.prompting.fitting import Limits
from winnow_engine.prompting.layout import SMALL_CONTRACT, TESTS_CONTRACT, UNTESTED_CONTRACT
from winnow_engine.question import Cursor, Question, Turn
from winnow_engine.selection.overview import (
    _tells_of_tests,
    asks_for_overview,
    asks_for_tests,
    files_of_kind,
    fitting,
    overview_units,
    without_idle_cursor,
)
from winnow_engine.selection.starters import starter_questions
from winnow_engine.storage.store import Store

from ..conftest import written
from .words import Words

OVERVIEW = """What does this do?|What does it do?|Where does it start?|How is it built and tested?
Which modules are there?|Walk me through the codebase.|Hi, could you explain what this app is about? Thanks!
How do I install and run it locally?|Was macht das hier?|Wo fängt es an?|Wie wird es gebaut und getestet?
Welche Module gibt es?|Wozu dient dieses Programm?|¿Qué hace este proyecto?|¿Dónde empieza?
¿Cómo se compila y se prueba?|¿Qué módulos hay?|¿Cuál es el punto de entrada?|Que fait ce projet ?
Où commence-t-il ?|Comment le compiler et le tester ?|Quels modules y a-t-il ?|À quoi sert ce dépôt ?
Что это делает?|Где точка входа?|Как его собрать и протестировать?|Какие модули есть?|Как устроен код?
これは何をするものですか？|どこから始まりますか？|どうやってビルドしてテストしますか？
どんなモジュールがありますか？|这个项目是做什么的？|它从哪里开始？|如何构建和测试？|有哪些模块？
Give me an overview of this project|What problem does this solve?|Where is the entry point?|whats the entry point??
Which file is executed first?|How do I build and run this?|What are the main components?
I'm new here, where should I start reading?|What does this codebase do and how is it structured?
Tell me what this tool is good for|Summarize the repo in a few sentences|Gib mir einen Überblick über das Projekt
Welches Problem löst das Programm?|Welche Datei wird zuerst ausgeführt?|Wie baue und starte ich das?
Wie führe ich die Tests aus?|Was sind die wichtigsten Komponenten?|Ich bin neu hier, wo fange ich an zu lesen?
Worum geht es in diesem Projekt?|Fasse das Repository kurz zusammen|Was kann dieses Werkzeug?
Dame un resumen del proyecto|¿Qué problema resuelve?|¿Qué archivo se ejecuta primero?|¿Cómo lo compilo y lo ejecuto?
¿Cuáles son los componentes principales?|¿Cómo está organizado el código?|Soy nuevo, ¿por dónde empiezo a leer?
¿De qué trata este proyecto?|¿Cómo se instala?|Explícame la estructura del repositorio|Donne-moi un aperçu du dépôt
Quel problème résout-il ?|Quel fichier est exécuté en premier ?|Comment le compiler et le lancer ?
Quels sont les composants principaux ?|Comment le code est-il organisé ?
Je suis nouveau, par où commencer la lecture ?|De quoi parle ce projet ?|Résume le dépôt en quelques phrases
Quelle est l'architecture du projet ?|Дай обзор проекта|Какую проблему он решает?|Какой файл выполняется первым?
Как собрать и запустить проект?|Каковы основные компоненты?|Как организован код?
Я здесь новичок, с чего начать читать?|О чём этот проект?|Кратко опиши репозиторий|Что умеет эта программа?
プロジェクトの概要を教えてください|どんな問題を解決しますか？|最初に実行されるファイルはどれですか？
どうやってビルドして実行しますか？|テストはどうやって実行しますか？|主なコンポーネントは何ですか？
コードはどのように構成されていますか？|インストール方法を教えて|アーキテクチャを説明してください
ソースコードの全体像を知りたい|给我介绍一下这个项目|它解决了什么问题？|哪个文件最先执行？|怎么构建和运行？
怎么运行测试？|主要组件有哪些？|我是新手，应该从哪里开始看？|这个项目的目的是什么？|请总结一下这个仓库
这个工具能做什么？|What features does this app have?|What are the features of this project?|What are the prerequisites?
How do I set up the dev environment?|How do I start the development server?|What's inside this repository?
Erkläre mir die Architektur|Welche Abhängigkeiten hat das Projekt?|Quelles sont les dépendances ?|De quoi s'agit-il ?
Расскажи про проект|Для чего нужен этот проект?|依存関係は何ですか？|有哪些依赖？|项目用了哪些技术？
简单介绍一下代码结构
give a newcomer an overview: what is this project, how is it organised, and where does it start
Walk me through the code base|high-level architecture and main components|what are the moving parts?
Ich bin neu hier: was ist das für ein Projekt, wie ist es gegliedert und wo fängt es an?
Donne à un débutant une vue d'ensemble de l'architecture du projet
Новичку: общий обзор проекта, из каких основных частей он состоит и где точка входа
初めての人向けに、このプロジェクトの全体像と主要なモジュールを説明して
给新人介绍一下这个代码库的整体架构和核心模块
Dale a un recién llegado una visión general: qué es, cómo se organiza y dónde empieza
How do the main pieces fit together?|Give a new developer a guided tour of the code|Was sind die Hauptkomponenten?
How does the system work?|What are the main classes?|What does everything do?|what does project do"""
SPECIFIC = """Where is the retry policy set?|What does `main` do?|What does main() do?
Which modules import the logger?|Thanks!|How is the cache built?|What does the scheduler do?|Was macht der Parser?
¿Dónde se valida el campo?|Why?|Que fait le planificateur ?|Где проверяется подпись?|割引はどこで計算されますか？
折扣在哪里检查？|How does Python 2 start?|What is the problem with this code?|Wo ist das Problem in diesem Code?
¿Cuál es el problema de este código?|В чём проблема этого кода?|这段代码有什么问题？
Which environment variable does this read?|Where is the environment set up?|What feature flag is used?
Where are features read?|How are features built?|What are the features of the model?|What is a unit?
Which command parses the file?|What does the command do?|Which command runs first?|Which command starts the server?
How does the test suite mock time?|How does the development server reload?|Wo wird die Architektur geprüft?
依赖在哪里解析？|依存関係はどこで解決されますか？|What does the core module do?
Where is the key file read?|How does onboarding work?|What does the guide print?|Wie wird die Hauptansicht gerendert?
ログのレベルはどこで設定されますか？|关系是如何加载的？|What does the hat do?|What does inside do?
What does arrival do?|How is roughness tested?|What are essentials for?|Explain the system module
What does overview do?|what exactly does main do|What does setup do?"""


def lines(text: str) -> list[str]:
    return text.replace("\n", "|").split("|")


@pytest.mark.parametrize("text", lines(OVERVIEW))
def test_questions_about_the_whole(text: str) -> None:
    assert asks_for_overview(Question(text))


HOW_TESTED = """How do I run its tests?|How are tests run?|How is it tested?|Wie führe ich die Tests aus?
¿Cómo se prueba?|Comment lancer les tests ?|Как запустить тесты?|怎么运行测试？|テストはどうやって実行しますか？
How can I run the unit tests?|How do I run the test suite?|Which command runs the tests?|Wie lasse ich die Tests laufen?
¿Cómo ejecuto las pruebas unitarias?|怎么跑测试？|テストを走らせるには？
How do I run the testsuite?|Wie starte ich die Testsuite?|如何运行test？"""
OF_TESTS = """What does this testing library do?|How does this test tool work?|What is tested?|Where are the tests?
How many tests are there?|How do I run and test it?|Wie baue und teste ich das?|Was wird getestet?"""


@pytest.mark.parametrize("text", [*lines(HOW_TESTED), *lines(OF_TESTS)])
def test_how_tests_are_run_is_not_all_that_is_asked_of_tests(text: str) -> None:
    assert asks_for_tests(Question(text)) is (text in lines(HOW_TESTED))


def test_a_long_file_that_alone_says_how_tests_are_run_is_cut(tmp_path: Path, store: Store) -> None:
    root, drafter, step = tmp_path / "root", cast("Any", Words), "    value = value + 1\n"
    makefile = "test:\n\tpytest\n" + "\techo one more line of it\n" * 60
    write(root, {"Makefile": makefile, "a.py": "def step(value):\n" + step * 90})
    with closing(Assistant(store, drafter)) as assistant:
        selection = assistant.select(Sources((Folder(root),)), Question("How do I run its tests?"), Budget(200))
    assert [span.path for span in selection.spans] == ["Makefile"]


@pytest.mark.parametrize("text", [*lines(SPECIFIC), "使用" * 40 + "鬱", "problem" * 200_000])
def test_questions_that_name_something(text: str) -> None:
    assert not asks_for_overview(Question(text))


def test_what_was_said_before_or_stands_at_the_cursor_may_be_meant() -> None:
    earlier = (Turn("How does the parser work?", "It reads tokens."),)
    assert not asks_for_overview(Question("Where does it start?", earlier=earlier))
    assert asks_for_overview(Question("Where does the program start?", earlier=earlier))
    assert not asks_for_overview(Question("What does this do?", Cursor("a.py", 1, 1)))
    assert asks_for_overview(Question("What does this project do?", Cursor("a.py", 1, 1)))
    assert without_idle_cursor(Question("How do I run its tests?", Cursor("a.py", 1, 1))).cursor is None
    assert without_idle_cursor(Question("What does this do?", Cursor("a.py", 1, 1))).cursor


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
def test_the_files_that_tell_are_kept(tmp_path: Path, store: Store, text: str, wanted: set[str], look: int) -> None:
    files = {
        "README.md": "# Tax\n\nAdds taxes.\n",
        "pyproject.toml": '[project]\nname = "tax"\nscripts.tax = "tax.tool:run"\n',
        "src/tax/tool.py": "def run():\n    print(2)\n",
        "Makefile": "test:\n\tpytest\n",
        "src/tax/__init__.py": '"""Taxes."""\n',
        "src/tax/__main__.py": "def main():\n    print(1)\n",
        **{f"src/tax/m{n}.py": "def step(value):\n" + "    value = value + 1\n" * 9 for n in range(20)},
    }
    write(tmp_path / "root", files)
    with closing(Assistant(store, cast("Any", Words))) as assistant:
        sources, budget = Sources((Folder(tmp_path / "root"),)), Budget(60, first_look_tokens=look)
        selection = assistant.select(sources, Question(text), budget)
    assert wanted <= {span.path for span in selection.spans}
    assert not any("seems to answer" in notice for notice in selection.notices)


def test_a_readme_that_takes_most_of_the_budget_leaves_room_for_what_is_short() -> None:
    assert fitting([3, 1, 2], np.array([9, 40, 8, 50], np.int32), 60) == [3, 2]


def test_a_heading_alone_does_not_stand_for_a_readme(tmp_path: Path) -> None:
    lines = ["# Tax", "## Configuration", "### File", "Read from `tax.toml`.", "Usage", "-----", "## Rates", "As is."]
    workspace = written({"README.md": "\n\n".join(lines).replace("\n\n---", "\n---")}, tmp_path)
    units = overview_units(workspace, Question("How does it work?"))
    assert [workspace.units[unit][1].name for unit in units] == ["File", "Rates"]


def test_an_overview_of_a_library_has_what_its_readme_names_and_its_most_used_modules(tmp_path: Path) -> None:
    code = "struct pool {\n    int size;\n    int used;\n    int most;\n};\nint pool_size(struct pool *pool);\n"
    users = {
        f"src/use{n}.c": f"int use{n}(struct pool *p) {{\n    return pool_size(p) + hash_of(p) + {n};\n}}\n"
        for n in range(4)
    }
    files = {
        "README.md": "[![Build](https://ci/b)](https://ci)\n\n**See the [notes](https://notes) for this release.**\n\n"
        "# Pool\n\nKeeps connections open and lends them, one after another. " + "It is small. " * 20 + "\n\n"
        "## Use\n\n    int n = hash_of(&pool);\n",
        "CMakeLists.txt": "cmake_minimum_required(VERSION 3.15)\n\nmacro(version name)\nendmacro()\n\n"
        'project(pool VERSION 1.0 DESCRIPTION "Keeps connections open and lends them")\n',
        "src/pool.h": code,
        "src/hash.c": "int hash_of(struct pool *pool) {\n    return 31 * pool->size + pool->used;\n}\n",
        "src/strings.c": "int check(void) {\n    return 0;\n}\nint main(void) {\n    return check();\n}\n",
        "index.js": "function table() {\n" + "  print('one more line of it')\n" * 99 + "}\n",
        "scripts/hash.c": "int unused_hash(void) {\n    return 31;\n}\n",
        **users,
    }
    workspace = written(files, tmp_path)
    units = overview_units(workspace, Question("Give a newcomer an overview: what are the moving parts?"))
    kept = [(file.path, file.text_of(unit)) for file, unit in map(workspace.units.__getitem__, units)]
    assert kept[0][1].startswith("# Pool")
    assert "project(pool" in kept[1][1]
    assert {"src/pool.h", "src/hash.c"} <= {path for path, _ in kept}
    assert not {"index.js", "src/strings.c", "scripts/hash.c"} & {path for path, _ in kept}
    assert [path for path, _ in kept].count("README.md") == 1


def test_a_lone_main_is_where_it_starts_but_no_part_of_what_a_readme_names(tmp_path: Path) -> None:
    files = {
        "README.md": "# Orders\n\nAn `OrderBook` keeps the orders of a market and matches them by price.\n",
        "book.py": 'class OrderBook:\n    """Keeps the orders of a market and matches them by price and time."""\n',
        "jobs.py": "def main():\n    return OrderBook()\n",
    }
    workspace = written(files, tmp_path)
    asked = [overview_units(workspace, Question(text)) for text in ("Where does it start?", "What does this do?")]
    paths = [[workspace.units[unit][0].path for unit in units] for units in asked]
    assert paths[0][0] == "jobs.py"
    assert "jobs.py" not in paths[1]
    assert "book.py" in paths[1]


def test_starter_questions_are_made_of_what_there_is(tmp_path: Path, store: Store) -> None:
    files = {
        "README.md": '<img src="logo.svg">\n\n[![Build](https://ci/b)](https://ci)\n\n# Tax\n\nAdds taxes.\n',
        "pyproject.toml": "".join(f"[part{n}]\nvalue = {n}\n\n" for n in range(60)) + "[tool.pytest]\nverbose = 1\n",
        "src/rate.py": 'class TaxRate:\n    """The rate of a tax, by country and year."""\n\n\n'
        "class TaxForm:\n    pass\n"
        "\ndef range(value):\n    return value\n\ndef of_none():\n    pass\n",
        "docs/_static/query.js": "/** Selects elements of a page, by its rules. */\nfunction pageQuery() {\n}\n",
        **{f"src/m{n}.py": "def step():\n    return TaxRate(), range(3), TaxForm(), pageQuery()\n" for n in range(6)},
        "tests/test_rate.py": "def test_one():\n    assert TaxRate()\n",
    }
    write(tmp_path / "root", files)
    workspace = read_workspace(Sources((Folder(tmp_path / "root"),)), store, Cancellation())
    found = starter_questions(workspace, Cancellation())
    units = overview_units(workspace, Question("What does this repository do?"))
    assert workspace.units[units[0]][1].start_line == 5  # not the logo
    tests = overview_units(workspace, Question("How do I run its tests?"))
    assert "pytest" in workspace.units[tests[0]][0].text_of(workspace.units[tests[0]][1])
    assert found == ["What does this repository do?", "How do I run its tests?", "How does `TaxRate` work?"]


def test_a_manifest_may_name_a_file_in_a_hidden_folder(tmp_path: Path) -> None:
    files = {"package.json": '{"main": "./.app/start.js"}\n', ".app/start.js": "start()\n", "index.js": "stop()\n"}
    found = written(files, tmp_path)
    assert [found.files[one].path for one in files_of_kind(found, "entry")] == [".app/start.js", "index.js"]


def test_of_the_files_of_a_manifest_one_named_as_an_entry_point_comes_first(tmp_path: Path) -> None:
    code = dict.fromkeys(("tools/make.zig", "src/main.zig"), "pub fn main() void {}\n")
    build = '.{ .path = "tools/make.zig" }, .{ .path = "src/main.zig" }\n'
    found = written({"build.zig": build, "bin/run": "#!/bin/sh\nmain\n", **code}, tmp_path)
    entries = [found.files[one].path for one in files_of_kind(found, "entry")]
    assert entries == ["src/main.zig", "tools/make.zig", "bin/run"]


def test_a_target_is_asked_for_a_command_or_function_that_is_there(tmp_path: Path, store: Store) -> None:
    limits = Limits(Budget(), cast("Any", SimpleNamespace(parameters=10**9)), 100)
    readme = "# Queue\n\n## How do I test it with Jest?\n\nJest has to know.\n\n    jest.useFakeTimers()\n"
    code = {"queue.c": "int main(void) {\n    return 0;\n}\n", "server.c": "int serve(void) {}\n", "rate.py": "R = 1\n"}
    options = {"CMakeLists.txt": "add_executable(queue server.c queue.c)\n", "setup.cfg": '[run]\nomit = "rate.py"\n'}
    write(tmp_path / "root", {"docs/index.md": readme, **code, **options})
    untested = read_workspace(Sources((Folder(tmp_path / "root"),)), store, Cancellation())
    write(tmp_path / "root", {"package.json": '{\n  "scripts": {\n    "test": "ava"\n  }\n}\n'})
    tested = read_workspace(Sources((Folder(tmp_path / "root"),)), store, Cancellation())
    for kind, path in {"readme": "docs/index.md", "entry": "queue.c"}.items():  # a README may be a link
        assert [tested.files[one].path for one in files_of_kind(tested, kind)] == [path]
    contracts = [limits.contract(Question("How do I run its tests?"), one) for one in (untested, tested)]
    assert contracts == [UNTESTED_CONTRACT, TESTS_CONTRACT]
    assert limits.contract(Question("Where does it start?"), tested) == SMALL_CONTRACT
    assert [_tells_of_tests(text, "") for text in ("./out/a_test", "tox -e py", "tox -e docs")] == [3, 3, 0]

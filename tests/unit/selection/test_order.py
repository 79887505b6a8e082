"""The order in which code is shown: definitions of bare names, and files by what they hold together."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from git_repositories import write

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Folder
from winnow_engine.index.relations import relations
from winnow_engine.index.workspace import Sources, Workspace
from winnow_engine.prompting.places import with_places
from winnow_engine.question import Cursor, Question
from winnow_engine.selection.definitions import defining
from winnow_engine.selection.fusion import FusedScores
from winnow_engine.selection.order import by_files, with_rules
from winnow_engine.selection.ranking import Ranked, without_unlikely_cursor
from winnow_engine.selection.scoring_input import Matches, without_drafter
from winnow_engine.selection.unit_features import unit_features
from winnow_engine.storage.store import Store

from ..conftest import written
from .words import Words

FILES = {
    "pool/core.py": "class Pool:\n    size = 1\n\n    def take(self):\n        return self.size\n",
    "pool/other.py": "class Queue:\n    def take(self):\n        return 2\n\n\n"
    "def refill(pool):\n    return pool.take()\n",
    "pool/__init__.py": "from pool.core import Pool\nfrom pool.other import Queue, refill\n",
    "pool-io/src/tank.rs": "pub fn main() {}\n",
    "tests/test_pool.py": "def test():\n    pass\n\n\ndef refill():\n    pass\n\n\nclass FakePool:\n    pass\n",
}

ABOUT_POOL = (
    "Was macht `Pool`?; ¿Cómo funciona `Pool`?; Que fait `Pool` ?; Как работает `Pool`?; `Pool`は何をしますか？; "
    "`Pool` 的作用是什么？; Pool class; where does the Pool class live; where is class Pool defined; Класс Pool; "
    "show me the Pool class; How does the Pool class count?; Wo ist die Klasse Pool definiert?; "
    "¿Dónde está la clase Pool?; Où se trouve la classe Pool ?; Poolクラスはどこですか; 类 Pool 在哪里？; "
    "Where is the class called Pool?; a class named 'Pool'; the class by the name of `Pool`; die Klasse namens Pool; "
    "la clase llamada Pool; la clase que se llama Pool; Que fait la classe nommée Pool ?; la classe appelée Pool; "
    "Класс под названием Pool; класс с именем Pool; 名为 Pool 的类; 叫做Pool的类在哪里？; Poolというクラス; "
    "Pool という名前のクラスは何をしますか？; 解释Pool(); class Pool的作用是什么？"
)
DECLARED = (
    "class Pool:; class Pool(Shop):; export class Pool extends Shop {; open class Pool : Shop(); class Pool<T>; "
    "type Pool struct; const Pool = require('x'); impl Pool for Shop; impl Pool; defmodule Pool do; val Pool: User?"
)
ABOUT_NONE = (
    "Where is `refill` used?; What is `refill` passed to?; refill the pool; What is in /srv/other.py:6?; ?; "
    "is core.py tested; What does Pool do?; the take method; The test class; Which class extends the Pool class?; "
    "Who calls `refill`?; When does `refill` get called?; Wo wird `refill` verwendet?; `refill` 在哪里被调用？; "
    "Where is the size that `refill` passes checked?; nothing_here; Which function called `refill`?; "
    "def refill(pool): who calls it?; function refill(pool) is called where?; class Pool(Shop) 在哪里被使用？; "
    "Where is the function called from `refill`?; Who calls the function named refill?; the class named Pond"
)
DIFFS = (  # what is after it, what is before, what is further up, neither; a function that is gone; a folder's folder
    ("--- a/pool/other.py\n+++ b/pool/other.py\n@@ -2,2 +2,2 @@\n     def take(self):\n-        return 1\n"
     "+        return 2", ["Queue.take"]),
    ("--- a/pool/other.py\n+++ b/pool/renamed.py\n@@ -5,2 +5,3 @@\n\n def refill(pool):\n+    pool.open()\n"
     "--- a/pool/core.py\n+++ b/pool/core.py\n@@ -4,2 +4,1 @@\n     def take(self):\n-        return self.size",
     ["refill", "Pool.take"]),
    ("--- a/pool/core.py\tnow\n+++ b/pool/core.py\n@@ -90 +90 @@\n-        return 1\n+        return self.size\n"
     "\\ No newline at end of file", ["Pool.take"]),
    ("--- a/pool/core.py\n+++ b/pool/core.py\n@@ -4 +4 @@\n-        return 1\n+        return pool/other.py:2", []),
    ("--- a/pool/other.py\n+++ /dev/null\n@@ -6,2 +0,0 @@\n-def refill(pool):\n-    return pool.take()", ["refill"]),
    ('--- "a/shop/pool/c\\303\\266re.py"\n+++ "b/shop/pool/c\\157re.py"\n@@ -4 +5 @@\n-\n'
     "+        return self.size", ["Pool.take"]),
    ("--- a/pool/other.py\n+++ b/pool/other.py\n@@@ -2,1 -2,1 +2,1 @@@\n++    def take(self):", []),  # of a merge
)  # fmt: skip


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return written(FILES, tmp_path)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Pool", ["Pool"]),
        ("`refill`", ["refill"]),
        ("refill()", ["refill"]),
        ("take", ["Pool.take", "Queue.take"]),
        ("Queue.take", ["Queue.take"]),
        ("Queue::take", ["Queue.take"]),
        ("crate::other::Queue::take", ["Queue.take"]),
        ("\\pool\\other\\Queue", ["Queue"]),
        ("fake_pool", ["FakePool"]),
        ("Queue take", ["Queue.take"]),
        ("take Queue", ["Queue.take"]),
        ("pool/other.py:take", ["Queue.take"]),
        ("take in other.py", ["Queue.take"]),
        ("The `take` method of the class Queue?", ["Queue.take"]),
        ("take from the pool.other.Queue", ["Queue.take"]),
        ("definition of Queue", ["Queue"]),
        ("take size", []),
        ("def refill(pool):", ["refill"]),
        ("func (p *Pool) refill(n int) error {", ["refill"]),
        ("refill(pool, of(1))", ["refill"]),
        ("&refill/1", ["refill"]),
        ("@callback refill(pool) :: term", ["refill"]),
        ("def refill(pool, used): why is it slow?", ["refill"]),
        ("func refill is slow", []),
        ("class Pool for shops", []),
        ("POOL/2", []),
        *((text, ["Pool"]) for text in DECLARED.split("; ")),
        ("Where is `refill` defined?", ["refill"]),
        ("How does `Pool` differ from `Queue`?", ["Pool", "Queue"]),
        *((text, []) for text in ABOUT_NONE.split("; ")),
        ("How does `Pool` work?\nHow does `Queue` work?\nWhere are errors logged?", []),
        (f"where is {' ' * 50_000}?", []),
        ("Where are pools filled? `Pool.take`?", ["Pool.take"]),
        ("Pools", ["Pool"]),
        ("What is in pool/core.py:4 or pool.other.Queue:2?", ["Pool.take", "Queue.take"]),
        ("What is in pool_io::tank::main:1 or pool/core:4?", ["main", "Pool.take"]),
        ("What is in core.index:4?", []),
        ('  File "/usr/lib/pool/other.py", line 6, in refill\nKeyError\n\nwhy??', ["refill"]),
        ('  File "/usr/lib/pool/other.py", line 6, in refill\nKeyError\n' + "served\n" * 9_000, ["refill"]),
        ("C:\\Users\\pool\\other.py\n  2:5  error  why??\n  6:1  error  why??\n\n1 file", ["Queue.take", "refill"]),
        ("pool/other.py\n1-class Queue:\n2:    def take(self):\n--\n7:7\n\nwhy??", ["Queue.take", "refill"]),
        ("pool/other.py\n06:10:59 why??\n06:10 why??", []),
        *((f"what could this break?\n\n```\n{diff}\n```", names) for diff, names in DIFFS),
        ("pool/core.py:41".rjust(20_001) + "\nserved" * 9_000, []),  # the file has no line 41
        ("explain pool/other.py, please", ["Queue", "Queue.take", "refill"]),
        ("Was macht das core module?", ["Pool", "Pool.take"]),
        ("How does `Pool.take` count what is left?", ["Pool.take"]),
        ("What does refill() do?", ["refill"]),
        ("Explain the class `Queue` and `refill`, please", ["Queue", "refill"]),
        ("Why does the method `Queue.take` return 2?", ["Queue.take"]),
        *((text, ["Pool"]) for text in ABOUT_POOL.split("; ")),
        ("Where is the refill function?", ["refill"]),
        ("The function called main", ["main"]),
    ],
)
def test_a_bare_name_has_definitions(workspace: Workspace, text: str, names: list[str]) -> None:
    units = [workspace.units[unit] for unit in defining(with_places(Question(text), workspace), workspace)]
    assert [unit.name for _, unit in units] == names
    assert "tests/test_pool.py" not in {file.path for file, _ in units} or names == ["FakePool"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("readme", "README.md"),
        ("Changelog", "docs/CHANGELOG.md"),
        ("contributing", "CONTRIBUTING"),
        ("package.json", "package.json"),
        ("pool", ""),
    ],
)
def test_a_document_is_meant_by_its_name_and_of_many_files_that_at_the_top(
    tmp_path: Path, text: str, path: str
) -> None:
    files = [
        "README.md",
        "package.json",
        *(f"{folder}/{name}" for folder in "abc" for name in ("README.md", "package.json")),
    ]
    others = ["docs/CHANGELOG.md", "CONTRIBUTING", "pool.py", "docs/pool.md"]
    workspace = written(dict.fromkeys([*files, *others], "text: 1\n"), tmp_path)
    assert {workspace.units[unit][0].path for unit in defining(Question(text), workspace)} == {path} - {""}


@pytest.mark.parametrize(
    "copy", ["dist/all.py", "lib.esm/a.py", "docs/v1/scripts/all.py", "more/pools_amalgamated.py", "src/take.pyi"]
)
def test_sources_come_before_what_a_build_wrote_and_stubs(tmp_path: Path, copy: str) -> None:
    code = "def take():\n    return 1\n"
    others = {"esm/sign.py": "def sign():\n    pass\n", "tests/a.py": "def test():\n    pass\n"}
    workspace = written({"src/take.py": code, copy: code, "build/take.py": code, **others}, tmp_path)
    assert {workspace.files[number].path for number in np.flatnonzero(workspace.are_copies)} == {copy}
    units = defining(Question("take"), workspace)
    assert [workspace.units[unit][0].path for unit in units] == ["build/take.py", "src/take.py"]
    for text, aside in ("How is it taken?", {copy, "tests/a.py"}), ("Which tests cover it?", {copy}):
        found = unit_features(without_drafter(workspace, Question(text)))["tests"]
        assert {workspace.units[unit][0].path for unit in np.flatnonzero(found)} == aside


def test_what_only_a_stub_defines_is_defined_there(tmp_path: Path) -> None:
    stub = "class Widget:\n    def close(self) -> None: ...\n"
    users = "from a import Widget\n\n\nclass Panel:\n    widget: Widget\n\n    def close(self) -> None:\n        pass\n"
    workspace = written({"a.pyi": stub, "b.py": users}, tmp_path)
    assert {workspace.units[unit][0].path for unit in defining(Question("Widget"), workspace)} == {"a.pyi"}
    assert "Widget" in [one.name for one in relations(workspace, Cursor("b.py", 5, 5)).uses]


def test_every_name_of_a_stub_tells_if_it_is_a_copy(tmp_path: Path) -> None:
    stub = [f"def take_{number}():\n    return {number}\n" for number in range(150)]
    files = {"a.py": "\n".join(code for at, code in enumerate(stub) if at % 3), "a.pyi": "\n".join(stub)}
    assert written(files, tmp_path).are_copies.tolist() == [False, True]


MEMBERS = {
    "src/Mode.java": "enum Mode {\n  AUTO, NONE;\n\n  int at() {\n    return 1;\n  }\n}\n",
    "src/Level.java": "enum Level { AUTO }\n",
    "src/Cache.kt": "class Cache {\n  val limit = 1\n\n  fun take() = limit\n\n  companion object {\n"
    "    const val SIZE = 1\n    fun make() = Cache()\n  }\n}\n",
    "src/jvmTest/CacheTest.kt": "fun size() = 1\n\nfun limit() = 2\n\nclass Many {\n  val entries = 1\n}\n",
    "src/settings.py": "RETRIES = 1\n",
    "src/other.py": "RETRIES = 2\n",
    "tests/retries.py": "class Retries:\n    pass\n\n\ndef RETRIES():\n    pass\n",
}


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("AUTO", "Mode.java:Mode Level.java:Level"),
        ("Mode.AUTO", "Mode.java:Mode"),
        ("How does `Mode::AUTO` work?", "Mode.java:Mode"),
        ("Cache.limit", "Cache.kt:Cache"),
        ("limit", "Cache.kt:Cache"),
        ("entries", "CacheTest.kt:Many"),
        ("Cache.SIZE", "Cache.kt:Cache.companion"),
        ("Cache.make", "Cache.kt:Cache.companion.make"),
        ("settings.RETRIES", "settings.py:"),
        ("RETRIES", "settings.py: other.py:"),
    ],
)
def test_a_member_is_declared_by_its_class(tmp_path: Path, text: str, places: str) -> None:
    workspace = written(MEMBERS, tmp_path)
    units = [workspace.units[unit] for unit in defining(Question(text), workspace)]
    assert {f"{file.path.rpartition('/')[2]}:{unit.name}" for file, unit in units} == {*places.split()}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("the pool class", ["Pool"]),
        ("How does the pool list class work?", ["PoolList"]),
        ("the pool function", ["pool"]),
        ("Who fills the pool class?", []),
        ("What is in class Pool?", ["Pool"]),
        ("How does a class work?", []),
    ],
)
def test_words_before_class_may_be_its_name(tmp_path: Path, text: str, names: list[str]) -> None:
    names_of = "class Pool", "class PoolList", "def pool()", "def pool_list()", "class A", "class In"
    workspace = written({"a.py": "\n\n".join(f"{one}:\n    pass\n" for one in names_of)}, tmp_path)
    assert [workspace.units[unit][1].name for unit in defining(Question(text), workspace)] == names


def test_in_c_a_name_has_a_body_that_the_grammar_misses_else_a_prototype(tmp_path: Path) -> None:
    body = "#ifdef A\n\tif (n) {\n#else\n\tif (!n) {\n#endif\n\t\treturn 1;\n\t}\n\treturn 0;\n}\n"
    files = {
        "pool.h": "API(int) pool_put(int n);\n\nstruct pool *pool_take(int n,\n    int m);\n",
        "pool.c": f'#include "pool.h"\n\nint\npool_put(int n)\n{{\n{body}',
        "run.c": "int run(void) {\n  return pool_take(1, 2) || pool_put(3);\n}\n",
    }
    workspace = written(files, tmp_path)
    for name, path in ("pool_put", "pool.c"), ("pool_take", "pool.h"):
        assert [workspace.units[unit][0].path for unit in defining(Question(name), workspace)] == [path]


IN_FILES = {
    "src/app/users.py": "def take():\n    pass\n",
    "server/app.py": "def run():\n    pass\n",
    "lib/core.py": "class Cache:\n    def open(self):\n        pass\n\n\nclass Pool:\n    def open(self):\n"
    "        pass\n\n\ndef open():\n    pass\n",
    "lib/core.ts": "function open() {}\n",
}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("take in app.py", ""),
        ("take in app/users.py", "take"),
        ("Cache.open in core.py", "Cache.open"),
        ("lib/core.py:Pool.open", "Pool.open"),
        ("open in Core.py", "Cache.open Pool.open open"),
    ],
)
def test_a_member_is_in_the_very_file(tmp_path: Path, text: str, names: str) -> None:
    workspace = written(IN_FILES, tmp_path)
    units = [workspace.units[unit] for unit in defining(Question(text), workspace)]
    assert [unit.name for _, unit in units] == names.split()
    assert "lib/core.ts" not in {file.path for file, _ in units}


def test_a_method_of_a_class_may_have_any_number_of_forms(tmp_path: Path) -> None:
    forms = "\n".join(f"  void put({kind} one) {{\n  }}" for kind in "abcdefghijklmnopq")
    workspace = written({"Many.java": f"class Many {{\n{forms}\n}}\n", "One.java": forms}, tmp_path)
    assert not defining(Question("put"), workspace)
    assert len(defining(Question("Many.put"), workspace)) == 17


@pytest.mark.parametrize("text", ["views.index", "index in views.py", "Where is views.index defined?", "views index"])
def test_no_definition_in_one_of_many_files_is_meant(tmp_path: Path, text: str) -> None:
    workspace = written({f"app{n}/views.py": "def index():\n    pass\n" for n in range(17)}, tmp_path)
    assert not defining(Question(text), workspace)


def test_all_definitions_of_a_qualified_name_in_a_few_files_are_meant(tmp_path: Path) -> None:
    workspace = written({f"app{n}/views.py": "def index():\n    pass\n" for n in range(5)}, tmp_path)
    assert len(defining(Question("How does `views.index` work?"), workspace)) == 5


@pytest.mark.parametrize(
    "text", ["name", "How does `name` work?", "name in config", "user name", "Nope.name", "c7.name"]
)
def test_no_other_file_is_looked_into_for_a_name_that_many_classes_declare(tmp_path: Path, text: str) -> None:
    workspace = written({f"C{n}.java": f"class C{n} {{\n  String name;\n}}\n" for n in range(17)}, tmp_path)
    names = ["C7"] if text == "c7.name" else []
    assert [workspace.units[unit][1].name for unit in defining(Question(text), workspace)] == names
    assert [file.path for file in workspace.files if "units" in vars(file)] == [f"{name}.java" for name in names]


RESEMBLING = {
    "lines.py": "class Header:\n    def read_header_line(self):\n        pass\n\n\ndef unit_tests():\n    pass\n",
    "tests/a.py": "def large_file():\n    pass\n",
}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("read header line", "Header.read_header_line"),
        ("Read header-line?", "Header.read_header_line"),
        ("readHeader", "Header.read_header_line"),
        ("Header.readHeadLine", ""),
        ("Headed\nThe pool hangs when a worker dies.", ""),
        ("readHeader()\nWhy does it fail?", "Header.read_header_line"),
        ("read_haeder_line", "Header.read_header_line"),
        ("readHederLine()", "Header.read_header_line"),
        ("readHeaderXLine", "Header.read_header_line"),
        ("Header.readHeadorLine", "Header.read_header_line"),
        ("Haeder", "Header"),
        ("haeder", ""),
        ("read one line", ""),
        ("unit tests", ""),
        ("large file", ""),
        ("largeFil", ""),
    ],
)
def test_a_name_may_be_begun_mistyped_or_in_words(tmp_path: Path, text: str, name: str) -> None:
    workspace = written(RESEMBLING, tmp_path)
    assert [workspace.units[unit][1].name for unit in defining(Question(text), workspace)] == ([name] if name else [])


@pytest.mark.parametrize("text", ["take", "How does `take` work?"])
def test_of_a_name_that_many_classes_have_what_is_in_none_is_meant(tmp_path: Path, text: str) -> None:
    files = {f"p{n}.py": f"class Pool:\n    def take(self):\n        return {n}\n" for n in range(20)}
    workspace = written({**files, "take.py": "def take(pool):\n    return pool.take()\n"}, tmp_path)
    assert [workspace.units[unit][1].name for unit in defining(Question(text), workspace)] == ["take"]


@pytest.mark.parametrize("text", ["load.data", "Where is load_data defined?", "How does the function load.data work?"])
def test_a_name_with_a_dot_is_one_name(tmp_path: Path, text: str) -> None:
    workspace = written({"a.R": "data <- 1\n\nload.data <- function(x) x\n\nsave.data <- function(x) x\n"}, tmp_path)
    assert [workspace.units[unit][1].name for unit in defining(Question(text), workspace)] == ["load.data"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("empty?", ["Pool.empty?"]),
        ("How does `empty?` work?", ["Pool.empty?"]),
        ("def empty?(of)", ["Pool.empty?"]),
        ("clear", ["Pool.clear"]),
        ("Pool#clear!", ["Pool.clear!"]),
        ("where is clear! defined?", ["Pool.clear!"]),
        ("clear?", ["Pool.clear"]),
        ("clear!/1", ["Pool.clear!"]),
    ],
)
def test_a_name_may_end_in_a_mark(tmp_path: Path, text: str, names: list[str]) -> None:
    methods = "".join(f"  def {name}\n    @size\n  end\n\n" for name in ("empty?", "clear", "clear!"))
    workspace = written({"pool.rb": f"class Pool\n{methods}end\n"}, tmp_path)
    assert [workspace.units[unit][1].name for unit in defining(Question(text), workspace)] == names


@pytest.mark.parametrize("text", ["fold'", "where is fold' defined?"])
def test_a_name_may_end_in_a_prime(tmp_path: Path, text: str) -> None:
    workspace = written({"Fold.hs": "fold :: a\nfold = 1\n\nfold' :: a\nfold' = 2\n"}, tmp_path)
    assert [workspace.units[unit][1].name for unit in defining(Question(text), workspace)] == ["fold'"]


@pytest.mark.parametrize("text", ["uuid4/0", "Pool.uuid4/0"])
def test_a_name_may_end_in_a_digit_before_the_number_of_arguments(tmp_path: Path, text: str) -> None:
    workspace = written({"pool.ex": "defmodule Pool do\n  def uuid4 do\n    1\n  end\nend\n"}, tmp_path)
    assert [workspace.units[unit][1].name for unit in defining(Question(text), workspace)] == ["Pool.uuid4"]


@pytest.mark.parametrize("text", ["读取data", "`读取data`的作用是什么？", "解释 读取data()"])
def test_a_name_may_mix_scripts(tmp_path: Path, text: str) -> None:
    workspace = written({"a.py": "def 读取data():\n    pass\n\n\ndef data():\n    pass\n"}, tmp_path)
    assert [workspace.units[unit][1].name for unit in defining(Question(text), workspace)] == ["读取data"]


NAMED = {
    ".github/ci.yml": ".github/ci.yml",
    "./src/app.ts": "src/app.ts",
    "@lib/app.ts": "lib/app.ts",
    "/srv/root/src/app.ts": "src/app.ts",
    "C:\\srv\\root\\src\\app.ts": "src/app.ts",
    "src\\app.ts": "src/app.ts",
    "src/routes/+page.svelte": "src/routes/+page.svelte",
    "app/[id]/page.tsx": "app/[id]/page.tsx",
    "(auth)/page.tsx": "app/(auth)/page.tsx",
    "readme.md": "README.md",
    "the makefile": "Makefile",
    "application.properties": "application.properties",
    ".dockerignore": ".dockerignore",
    "数据.py": "数据.py",
    "lib/数据/v1.x版.md": "lib/数据/v1.x版.md",
}


@pytest.mark.parametrize(("name", "path"), NAMED.items())
def test_a_file_that_is_named_exactly_is_meant(tmp_path: Path, name: str, path: str) -> None:
    others = "jobs/github/ci.yml", "lib/app.ts", "docs/page.tsx", "node.js"
    workspace = written(dict.fromkeys((*NAMED.values(), *others), "text: 1\n"), tmp_path)
    assert {workspace.units[unit][0].path for unit in defining(Question(f"Explain {name}"), workspace)} == {path}
    if "." in name and "srv" not in name:
        found = Matches(
            workspace, Question(f"What (see [Node.js]), e.g. v1.2, does {name} load from app.ts.load?")
        ).files
        assert [workspace.files[number].path for number in found] == [path]


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("C:\\Users\\me\\shop\\src\\util\\app.py", ["src/util/app.py"]),
        ("/home/me/shop/src/util/app.py", ["src/util/app.py"]),
        ("/root/.cargo/registry/src/serde/src/lib.rs", []),
        ("/home/me/shop/other-src/util/app.py", []),
        ("lib/src/util/app.ts", ["lib/src/util/app.ts"]),
        ("C:\\Users\\me\\shop\\lib\\src\\util\\app.ts", ["lib/src/util/app.ts"]),
    ],
)
def test_a_path_with_folders_before_it_is_found_unless_it_is_short(tmp_path: Path, name: str, paths: list[str]) -> None:
    files = "src/util/app.py", "src/app.py", "src/lib.rs", "src/util/app.ts", "lib/src/util/app.ts"
    workspace = written(dict.fromkeys(files, "text: 1\n"), tmp_path)
    found = Matches(workspace, Question(f'File "{name}", line 3: why does this fail?')).files
    assert [workspace.files[number].path for number in found] == paths


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("src/core.py中的Context如何入栈？", ["src/core.py"]),
        ("请解释core.py的invoke函数", ["src/core.py"]),
        ("core.pyでは何が起きるか", ["src/core.py"]),
        ("core.py에서 무엇을", ["src/core.py"]),
        ("比较core.py和数据.py", ["src/core.py", "数据.py"]),
        ("打开.github/ci.yml看看", [".github/ci.yml"]),
        ("看./src/core.py吧", ["src/core.py"]),
        ("请看读取app.py的代码", ["读取app.py"]),
        ("请看lib/数据/io.py", ["lib/数据/io.py"]),
        ("src/数据/core.py在哪里", []),
    ],
)
def test_a_file_is_found_without_spaces_around_its_name(tmp_path: Path, text: str, paths: list[str]) -> None:
    files = "src/core.py", "src/app.py", "io.py", "数据.py", "读取app.py", "lib/数据/io.py", ".github/ci.yml"
    workspace = written(dict.fromkeys(files, "text: 1\n"), tmp_path)
    assert [workspace.files[number].path for number in Matches(workspace, Question(text)).files] == paths


def test_case_is_ignored_only_if_no_file_has_the_very_name(tmp_path: Path) -> None:
    workspace = written(dict.fromkeys(("pool/pool.py", "lib/Pool.java"), "text: 1\n"), tmp_path)
    assert {workspace.units[unit][0].path for unit in defining(Question("the pool file"), workspace)} == {
        "pool/pool.py"
    }


@pytest.mark.parametrize("part", ["QUJD/+", "/@a", "[[a]]", "(a)", "[(a)", "(a(", "../", "a.a_", "中.a", "数据.py和"])
def test_names_of_files_are_found_in_linear_time(workspace: Workspace, part: str) -> None:
    assert not workspace.file_table.named(part * 40_000)


@pytest.mark.parametrize(
    ("question", "path"), [("Queue", "pool/other.py"), ("What does this project do?", "README.md")]
)
def test_what_a_rule_finds_comes_before_all_other_units(tmp_path: Path, question: str, path: str) -> None:
    workspace = written({"README.md": "# Pool\n\nPools of things.\n", **FILES}, tmp_path)
    total = np.linspace(-9, 3, len(workspace.units), dtype=np.float32)
    total[-1] = -np.inf
    scores = FusedScores(total, {}, -2.0, np.arange(len(total)), np.ones(1, np.float32))
    found = with_rules(Question(question), workspace, scores)
    assert workspace.units[int(found.total.argmax())][0].path == path
    assert (found.log_odds, float(found.total.max())) == (2.0, 2.0)
    assert by_files(workspace, found) is found


@pytest.mark.parametrize(
    ("text", "first"),
    [("How does `refill` work?", True), ("How does `refill` work and where is the size of a pool set?", False)],
)
def test_a_long_definition_leaves_room_for_what_else_is_asked(workspace: Workspace, text: str, first: bool) -> None:
    question, total = Question(text), np.zeros(len(workspace.units), np.float32)
    (unit,) = defining(Question(text), workspace)
    tokens = np.full(len(total), 30, np.int32)
    tokens[unit] = 3000
    scores = FusedScores(total, {}, 2.0, np.arange(len(total)), np.ones(1, np.float32))
    nothing: Any = None
    ranked = Ranked(question, workspace, nothing, tokens, with_rules(question, workspace, scores), nothing)
    assert (int(ranked.worth.argmax()) == unit) is first


@pytest.mark.parametrize(
    ("text", "less"),
    [
        *(("pour_tea", True), ("fill_3", True), ("Where is the next step taken?", False), ("What is this?", False)),
        *(("fill_3 tests", False), ("fill_3? fill_4?", False), ("`fill_3` 是如何配置的", False)),
    ],
)
def test_an_agent_does_not_pay_for_what_is_next_to_never_the_answer(
    tmp_path: Path, store: Store, text: str, less: bool
) -> None:
    padding = "".join(f"    step = step_{number}(1)\n" for number in range(20))
    files = {f"b{n}.py": f"def fill_{n}():\n{padding}" for n in range(40)}
    write(tmp_path / "root", {"README.md": "# Tea\n\nPours.\n", "a.py": f"def pour_tea():\n{padding}", **files})
    with closing(Assistant(store, cast("Any", Words))) as assistant:
        sources = Sources((Folder(tmp_path / "root"),))
        kept, paid = (
            assistant.select(sources, Question(text), budget).stats.kept_tokens
            for budget in (Budget(), Budget(most_tokens=6000))
        )
    assert (paid < kept) is less


def test_the_function_at_the_cursor_counts_where_it_is_named(workspace: Workspace) -> None:
    total = np.full(len(workspace.units), -3, np.float32)
    scores = FusedScores(total, {}, 3.0, np.arange(len(total)), np.ones(1, np.float32))
    for name in ("refill", "take"):
        question = Question(f"How is `{name}` used?", Cursor("pool/other.py", 6, 6))
        assert (without_unlikely_cursor(question, workspace, scores) == question) is (name == "refill")


@pytest.mark.parametrize("line", [30, 101])
@pytest.mark.parametrize("levels", [0, 4])
def test_the_line_that_is_named_is_kept_of_a_function_over_the_budget(
    tmp_path: Path, store: Store, line: int, levels: int
) -> None:
    body = "".join(f"{'    ' * level}if step:\n" for level in range(1, levels + 1))
    body += "".join(f"{'    ' * levels}    step = step_{number}(1)\n" for number in range(100))
    write(
        tmp_path / "root", {"a.py": f"def run():\n{body}", **{f"b{n}.py": "def step():\n    pass\n" for n in range(9)}}
    )
    with closing(Assistant(store, cast("Any", Words))) as assistant:
        sources, question = Sources((Folder(tmp_path / "root"),)), Question(f"What happens at a.py:{line}?")
        first = next(span for span in assistant.select(sources, question, Budget(100)).spans if span.path == "a.py")
    assert first.start_line <= line <= first.end_line
    assert first.tokens > 30


def test_files_are_shown_by_what_they_hold_and_their_best_unit_first(workspace: Workspace) -> None:
    units = [workspace.files[number].path for number in np.repeat(range(5), np.diff(workspace.unit_starts))]
    total = np.full(len(units), -9, np.float32)
    first, other = units.index("pool/core.py"), units.index("pool/other.py")
    total[[first, other, other + 1, other + 2]] = 2.0, 1.9, 1.9, 1.8
    scores = FusedScores(total, {}, 2.0, np.arange(len(total)), np.ones(1, np.float32))
    found = by_files(workspace, scores)
    assert np.argsort(-found.total)[:4].tolist() == [other, first, other + 1, other + 2]
    assert float(found.total.max()) == 2.0
    listed = replace(scores, log_shares=np.zeros((3, len(total)), np.float32))
    assert by_files(workspace, listed) is listed

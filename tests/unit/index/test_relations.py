"""What code uses and who uses it, in a small workspace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from winnow_engine.errors import PositionError
from winnow_engine.index.contents import contents, named_units
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.relations import relations
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Cursor

FILES = {
    "shop/tax.py": "RATE = 0.2\n\n\ndef add_tax(amount):\n    # äöü\n    return amount + rounded(amount * RATE)\n",
    "shop/money.py": "# rounded\ndef rounded(amount):\n    return round(amount, 2)\n\n\ndef run(x):\n    return x\n",
    "shop/basket.py": (
        "from shop.tax import add_tax\n\n\nclass Basket:\n    def total(self):\n"
        "        #define add_tax\n        return add_tax(sum(self.prices))\n\n    def run(self):\n        pass\n"
    ),
    "shop/jobs/daily.py": "def run():\n    pass\n\n\ndef all_jobs():\n    run()\n\n\n"
    "def plain(total):\n    return total + 1\n\n\ndef dotted(basket):\n    return basket.total()\n",
    "other.py": "def run():\n    pass\n",
    "README.md": "# Shop\n\nSells.\n\n## Taxes\n\nMany.\n",
}


@pytest.fixture
def workspace(tmp_path: Path, workspace_of: Callable[[dict[str, str], Path], Workspace]) -> Workspace:
    return workspace_of(FILES, tmp_path)


def test_definitions_of_what_is_used_and_uses_of_what_is_defined_are_lines_of_code(workspace: Workspace) -> None:
    found = relations(workspace, Cursor("shop/tax.py", 6, 6))
    assert [unit.name for unit in found.units] == ["add_tax"]
    assert [(one.name, one.file.path, one.line, one.text) for one in found.uses] == [
        ("RATE", "shop/tax.py", 1, "RATE = 0.2"),
        ("rounded", "shop/money.py", 2, "def rounded(amount):"),
    ]
    assert [(one.file.path, one.line, one.unit.name) for one in found.used_by] == [
        ("shop/basket.py", 1, ""),
        ("shop/basket.py", 7, "Basket.total"),
    ]


def test_a_name_that_many_define_tells_nothing(workspace: Workspace) -> None:
    assert [one.name for one in relations(workspace, Cursor("shop/jobs/daily.py", 6, 6)).uses] == []


@pytest.mark.parametrize(("path", "seen"), [("src/a.js", ["src/"]), ("dist/a.js", ["dist/", "src/"])])
def test_sources_lead_to_no_copies_that_a_build_wrote(
    tmp_path: Path, workspace_of: Callable[[dict[str, str], Path], Workspace], path: str, seen: list[str]
) -> None:
    code = {"a.js": "function take() {\n  put();\n}\n", "b.js": "function put() {}\n", "c.js": "take();\n"}
    files = {f"{folder}/{name}": text for folder in ("src", "dist") for name, text in code.items()}
    found = relations(workspace_of(files, tmp_path), Cursor(path, 1, 3))
    for related, name in (found.uses, "b.js"), (found.used_by, "c.js"):
        assert [one.file.path for one in related] == [f"{folder}{name}" for folder in seen]


def test_a_method_elsewhere_is_meant_only_after_a_dot(workspace: Workspace) -> None:
    total = [one.file.path for one in relations(workspace, Cursor("shop/jobs/daily.py", 10, 10)).uses]
    called = [one.unit.name for one in relations(workspace, Cursor("shop/jobs/daily.py", 14, 14)).uses]
    assert (total, called) == ([], ["Basket.total"])


TAKE = "def take():\n    pass\n"


@pytest.mark.parametrize(
    ("suffix", "other", "own", "hidden"),
    [
        ("py", TAKE, TAKE + "\n\ndef run():\n    take()\n", True),
        ("py", TAKE, TAKE + "\n\ndef run():\n    b.take()\n", False),
        ("py", TAKE, "class A:\n  def take(self):\n    pass\n\n  def run(self):\n    self.take()\n", True),
        ("py", TAKE, "class A:\n  def take(self):\n    pass\n\n  def run(self):\n    take()\n", False),
        ("js", "export function take() {}\n", "const take = require('./b');\n\nfunction run() {\n  take()\n}\n", False),
        ("js", "export function take() {}\n", "const take = () => 1;\n\nfunction run() {\n  take()\n}\n", True),
        ("ex", "defmodule B do\n  def take, do: 1\nend\n",
         "defmodule A do\n  def take, do: 1\n  def go, do: take()\nend\n", True),
    ],
)  # fmt: skip
def test_a_files_own_definition_hides_those_of_other_files(
    tmp_path: Path,
    workspace_of: Callable[[dict[str, str], Path], Workspace],
    suffix: str,
    other: str,
    own: str,
    hidden: bool,
) -> None:
    workspace = workspace_of({f"a.{suffix}": own, f"b.{suffix}": other}, tmp_path)
    at = [Cursor(f"{name}.{suffix}", 1, text.count("\n")) for name, text in (("a", own), ("b", other))]
    uses, used_by = relations(workspace, at[0]).uses, relations(workspace, at[1]).used_by
    assert ([one.file.path for one in uses], [one.file.path for one in used_by][:1]) == (
        ([], []) if hidden else ([f"b.{suffix}"], [f"a.{suffix}"])
    )


def test_users_in_tests_come_last(tmp_path: Path, workspace_of: Callable[[dict[str, str], Path], Workspace]) -> None:
    code = "package a\n\nfunc Take() {}\n\nfunc Put() {}\n"
    users = dict.fromkeys(("b_test.go", "c.go"), "package a\n\nfunc b() {\n\tTake()\n\tPut()\n}\n")
    used_by = relations(workspace_of({"a.go": code, **users}, tmp_path), Cursor("a.go", 1, 5)).used_by
    assert [one.file.path for one in used_by] == ["c.go", "c.go", "b_test.go", "b_test.go"]


def test_a_line_within_a_comment_is_no_code(
    tmp_path: Path, workspace_of: Callable[[dict[str, str], Path], Workspace]
) -> None:
    shop = "/**\n A Shop sells.\n\n Shop owners count.\n */\nclass Shop {\n  int n = 1;\n}\n"
    files = {"Shop.java": shop, "Run.java": "class Run {\n  Shop shop;\n}\n"}
    uses = relations(workspace_of(files, tmp_path), Cursor("Run.java", 2, 2)).uses
    assert [(one.name, one.line) for one in uses] == [("Shop", 6)]


def test_a_plain_word_elsewhere_uses_a_method_after_a_dot_or_in_the_same_class(
    tmp_path: Path, workspace_of: Callable[[dict[str, str], Path], Workspace]
) -> None:
    files = {
        "a.js": "class Tap {\n  flow() {\n    return 1;\n  }\n}\n",
        "b.js": "function other() {\n  const flow = new Flow();\n}\n\nfunction dotted() {\n  tap.flow();\n}\n",
        "c.js": "class Tap {\n  again() {\n    flow();\n  }\n}\n",
    }
    used_by = relations(workspace_of(files, tmp_path), Cursor("a.js", 2, 3)).used_by
    assert [one.unit.name for one in used_by] == ["dotted", "Tap.again"]


@pytest.mark.parametrize(
    ("suffix", "base", "derived"),
    [
        ("java", "class A {\n  void run() {}\n}\n", "class B extends A {\n  void go() {\n    run();\n  }\n}\n"),
        ("kt", "open class A {\n  fun run() {}\n}\n", "class B : A() {\n  fun go() {\n    run()\n  }\n}\n"),
        ("cs", "class A {\n  void run() {}\n}\n", "class B : A {\n  void go() {\n    run();\n  }\n}\n"),
        ("cpp", "class A {\n  void run() {}\n};\n", "class B : A {\n  void go() {\n    run();\n  }\n};\n"),
        ("rb", "class A\n  def run\n    1\n  end\nend\n", "class B < A\n  def go\n    run\n  end\nend\n"),
        ("swift", "class A {\n  func run() {}\n}\n", "class B: A {\n  func go() {\n    run()\n  }\n}\n"),
        ("dart", "class A {\n  void run() {}\n}\n", "class B extends A {\n  void go() {\n    run();\n  }\n}\n"),
    ],
)
def test_a_class_calls_an_inherited_method_without_a_dot(
    tmp_path: Path, workspace_of: Callable[[dict[str, str], Path], Workspace], suffix: str, base: str, derived: str
) -> None:
    variable = derived.replace("run()", "run = 1").replace("    run\n", "    run = 1\n")
    files = {f"a.{suffix}": base, f"b.{suffix}": derived, f"c.{suffix}": variable}
    workspace = workspace_of(files, tmp_path)
    used_by = relations(workspace, Cursor(f"a.{suffix}", 2, 2)).used_by
    assert [(one.file.path, one.line) for one in used_by] == [(f"b.{suffix}", 3)]
    uses = [relations(workspace, Cursor(f"{file}.{suffix}", 3, 3)).uses for file in "bc"]
    assert [[(one.name, one.file.path) for one in some] for some in uses] == [[("run", f"a.{suffix}")], []]


@pytest.mark.parametrize(
    ("line", "calls"),
    [
        ("x = run || wait", True), ("wait || run || 1", True), ("put(run)", True),
        ("run ||= 1; run", False), ("each { |a, run| put run }", False), ("put(run: 1)", False), ("run == 1", True),
    ],
)  # fmt: skip
def test_a_variable_of_ruby_calls_no_method(
    tmp_path: Path, workspace_of: Callable[[dict[str, str], Path], Workspace], line: str, calls: bool
) -> None:
    derived = f"class B < A\n  def go\n    {line}\n  end\n\n  def come(run)\n    run\n  end\nend\n"
    workspace = workspace_of({"a.rb": "class A\n  def run\n    1\n  end\nend\n", "b.rb": derived}, tmp_path)
    assert [one.line for one in relations(workspace, Cursor("a.rb", 2, 2)).used_by] == [3] * calls


@pytest.mark.parametrize(("stub", "code"), [("pyi", "py"), ("d.ts", "ts")])
def test_what_only_a_stub_and_a_test_define_is_the_stubs(
    tmp_path: Path, workspace_of: Callable[[dict[str, str], Path], Workspace], stub: str, code: str
) -> None:
    take = "def take_all():\n    pass\n" if code == "py" else "function take_all() {}\n"
    run = take.replace("take_all", "run_all").replace("pass", "take_all()").replace("{}", "{ take_all() }")
    declared = take if code == "py" else "declare function take_all(): void;\n"
    files = {f"src/lib.{stub}": declared, f"src/run.{code}": run, f"tests/test_lib.{code}": take}
    workspace = workspace_of(files, tmp_path)
    uses = relations(workspace, Cursor(f"src/run.{code}", 1, 1)).uses
    assert [one.file.path for one in uses] == [f"src/lib.{stub}"]


def test_a_type_of_rust_is_defined_once_and_none_by_blocks_that_add_to_it(
    tmp_path: Path, workspace_of: Callable[[dict[str, str], Path], Workspace]
) -> None:
    blocks = "".join(f"\n/// Adds.\nimpl {trait} for Pool {{}}\n" for trait in ("Send", "Sync", "Drop"))
    files = {
        "pool.rs": f"pub struct Pool {{}}\n\nimpl Pool {{\n    fn take(&self) {{}}\n}}\n{blocks}",
        "short.rs": "pub trait Short {}\n\nimpl Short for String {}\n",
        "run.rs": "fn run(pool: &Pool) -> String {\n    pool.take()\n}\n",
    }
    workspace = workspace_of(files, tmp_path)
    uses = relations(workspace, Cursor("run.rs", 1, 3)).uses
    assert [(one.name, one.line) for one in uses] == [("Pool", 1), ("take", 4)]
    assert {one.name for one in relations(workspace, Cursor("pool.rs", 3, 4)).used_by} == {"take"}


def test_a_plain_word_leads_to_no_other_language_and_no_test(
    tmp_path: Path, workspace_of: Callable[[dict[str, str], Path], Workspace]
) -> None:
    files = {
        "src/run.ts": "export function run() {\n  const config = settle(lint, trim, readAll);\n}\n",
        "src/settle.js": "export function settle() {}\nexport function trim() {}\n",
        "src/lint.rs": "fn lint() {}\nfn readAll() {}\n",
        "tests/run.test.ts": "const config = 1;\nfunction lint() {\n  settle();\n}\n",
    }
    workspace = workspace_of(files, tmp_path)
    assert {one.name for one in relations(workspace, Cursor("src/run.ts", 1, 3)).uses} == {"settle", "trim", "readAll"}
    used_by = [
        relations(workspace, Cursor(path, 1, 2)).used_by
        for path in ("src/settle.js", "src/lint.rs", "tests/run.test.ts")
    ]
    assert [{(one.name, one.file.path) for one in some} for some in used_by] == [
        {("settle", "src/run.ts"), ("settle", "tests/run.test.ts"), ("trim", "src/run.ts")},
        {("readAll", "src/run.ts")},
        set(),
    ]


def test_a_plain_word_leads_to_what_is_there_for_other_languages(
    tmp_path: Path, workspace_of: Callable[[dict[str, str], Path], Workspace]
) -> None:
    files = {
        "core.c": "int encode(int n)\n{\n    return n;\n}\n",
        "a.sql": "CREATE TABLE orders (id int);\n",
        "p.proto": "message ping {\n  int32 a = 1;\n}\n",
        "lib.py": "def build():\n    return 1\n",
        "use.py": "def use():\n    return lib.encode(orders.all(), pb.ping())\n",
        "run": "#!/bin/sh\nbuild\nencode\n",
    }
    workspace = workspace_of(files, tmp_path)
    assert {one.name for one in relations(workspace, Cursor("use.py", 1, 2)).uses} == {"encode", "orders", "ping"}
    used_by = [relations(workspace, Cursor(path, 1, 1)).used_by for path in ("core.c", "a.sql", "p.proto", "lib.py")]
    assert [[one.file.path for one in some] for some in used_by] == [["use.py"]] * 3 + [[]]


def test_a_macro_is_shown_by_its_definition(
    tmp_path: Path, workspace_of: Callable[[dict[str, str], Path], Workspace]
) -> None:
    files = {
        "a.h": "/* Modes. POOL_MODE\n * POOL_MODE is usual. */\n# define POOL_MODE 1\n",
        "a.c": "int f() { return POOL_MODE; }\n",
    }
    (macro,) = relations(workspace_of(files, tmp_path), Cursor("a.c", 1, 1)).uses
    assert macro.text == "# define POOL_MODE 1"


def test_a_dot_is_a_part_of_a_name_in_r(
    tmp_path: Path, workspace_of: Callable[[dict[str, str], Path], Workspace]
) -> None:
    files = {
        "fit.R": "fit <- function(data) mean(data)\n",
        "load.R": "load.data <- function(path) {\n  .check(path)\n}\n\n.check <- function(path) path\n",
        "main.R": 'main <- function() fit(own::load.data("x"))\n',
    }
    workspace = workspace_of(files, tmp_path)
    assert relations(workspace, Cursor("fit.R", 1, 1)).uses == ()
    loading = relations(workspace, Cursor("load.R", 1, 1))
    assert [(one.name, one.unit.name) for one in (*loading.uses, *loading.used_by)] == [
        ("check", "check"),
        ("load.data", "main"),
    ]
    assert "load.data" in workspace.symbols.asked("What calls load.data?").certain
    assert "load.data" in workspace.symbols.asked("How is load data made?").possible
    assert not workspace.symbols.lacks_named("`load.data(1)`")


def test_a_place_outside_the_workspace_is_refused(workspace: Workspace) -> None:
    for cursor in (Cursor("shop/none.py", 1, 1), Cursor("shop/tax.py", 70, 80)):
        with pytest.raises(PositionError):
            relations(workspace, cursor)


def test_a_constant_or_type_is_outlined_by_its_line_and_led_to(
    tmp_path: Path, workspace_of: Callable[[dict[str, str], Path], Workspace]
) -> None:
    types = "// Get\ntype Make = (get: Get) => void\n\nexport type Get = string\n\n"
    code = "export const make = (() => 1) as Make\n\nexport function run() {\n  const inner = 1\n}\n"
    workspace = workspace_of({"a.ts": types + code, "b.ts": "export function b(a: Get) {\n}\n"}, tmp_path)
    named = [(one.name, one.start_line, one.end_line) for one in named_units(workspace.file("a.ts"))]
    assert named == [("Make", 2, 2), ("Get", 4, 4), ("make", 6, 6), ("run", 8, 10)]
    assert [one.line for one in relations(workspace, Cursor("b.ts", 1, 1)).uses] == [4]


@pytest.mark.parametrize(
    ("glob", "paths"), [("shop/[bt]*.py", ["shop/basket.py", "shop/tax.py"]), ("**/jobs/*", ["shop/jobs/daily.py"])]
)
def test_a_glob_has_its_files(workspace: Workspace, glob: str, paths: list[str]) -> None:
    assert [one.path for one in contents(workspace, glob)] == paths
    with pytest.raises(PositionError, match="no file of the workspace is"):
        list(contents(workspace, "none/*.py"))


def test_a_folder_and_a_file(workspace: Workspace) -> None:
    assert [one.path for one in contents(workspace, "./shop/")] == [
        "shop/jobs",
        "shop/basket.py",
        "shop/money.py",
        "shop/tax.py",
    ]
    (file,) = contents(workspace, "shop/basket.py")
    assert isinstance(file, IndexedFile)
    assert [(one.name, one.start_line, one.end_line) for one in named_units(file)] == [
        ("Basket", 4, 4),
        ("Basket.total", 5, 8),
        ("Basket.run", 9, 10),
    ]

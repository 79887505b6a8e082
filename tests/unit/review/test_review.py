"""Nothing in a review is invented: each finding stands at a line that exists."""

import json
from collections.abc import Callable
from pathlib import Path

import git_repositories as git
import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from winnow_engine.changes.reading import read_changes
from winnow_engine.core import Cancellation, Folder
from winnow_engine.index.outline import ParsedFile, parse_or_plain
from winnow_engine.index.workspace import Workspace, read_workspace
from winnow_engine.review import uses
from winnow_engine.review.corrections import Repetition, repetitions
from winnow_engine.review.findings import CORRECTED, Finding
from winnow_engine.review.review import Review, reviewed, sarif
from winnow_engine.storage.store import Store

VALID = jsonschema.Draft4Validator(json.loads((Path(__file__).parent / "sarif-schema-2.1.0.json").read_text("utf-8")))
BASKET = "def total(items):\n    return sum(items)\n\n\ndef gone():\n    return 0\n"
FILES = {
    "shop/basket.py": BASKET,
    "shop/orders.py": (
        "from shop.basket import gone, total\n\n\ndef checkout(items):\n    return gone() + total(items)\n"
    ),
    "web/orders.py": "ORDERS = 1\n",
}
GONE = {
    ".py": "def gone():\n    return 1\n\n\n",
    ".js": "function gone(x) {\n  return x;\n}\n\n",
    ".ts": "export function gone(x) {\n  return x;\n}\n\n",
    ".go": "func gone() int {\n\treturn 1\n}\n\n",
    ".c": "int gone(int x) {\n  return x;\n}\n\n",
    ".rs": "fn gone() -> i32 {\n    1\n}\n\n",
    ".rb": "def gone(x)\n  x\nend\n\n",
    ".java": "class gone {\n  int x;\n}\n\n",
}
GONE[".cpp"] = GONE[".c"]
USES = {
    ".py": "from db import gone\n\ngone()\n",
    ".js": "const { gone } = require('./db');\n\ngone(1);\n",
    ".ts": "import { gone } from './db';\n\ngone(1);\n",
    ".c": '#include "db.h"\n\nint use(int x) {\n  return gone(x);\n}\n',
}
USES[".cpp"] = USES[".c"]


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, Path]:
    """A function is gone that is still called, another one changed, and a conflict was left."""
    top = git.new(tmp_path_factory.mktemp("repository"))
    git.commit(top, "one", dict(FILES))
    basket = "def total(items):\n    return max(items)\n<<<<<<< HEAD\n"
    git.write(top, {"shop/basket.py": basket, "web/x y.py": "X = 1\n>>>>>>> topic\n"})
    store = Store(tmp_path_factory.mktemp("store") / "index.sqlite")
    return read_workspace(git.sources_of(top), store, Cancellation()), top


@pytest.fixture
def review(changed: tuple[Workspace, Path]) -> Callable[[str], Review]:
    """The review that a model's answer makes."""
    workspace, top = changed
    found = read_changes(git.sources_of(top), workspace, "", Cancellation())
    return lambda answer: reviewed(answer, found, workspace)


def model(made: Review) -> list[tuple[str, int, int, str, str]]:
    return [
        (one.path, one.start_line, one.end_line, one.confidence, one.reason)
        for one in made.findings
        if one.rule == "model"
    ]


def review_of(top: Path) -> Review:
    """The review without a model's answer."""
    sources = git.sources_of(top)
    workspace = read_workspace(sources, Store(top.parent / "index.sqlite"), Cancellation())
    return reviewed("", read_changes(sources, workspace, "", Cancellation()), workspace)


def test_rules_find_what_needs_no_model(review: Callable[[str], Review]) -> None:
    made = review("The larger replaces `sum`")
    assert made.summary == "The larger replaces `sum`"
    assert [(one.path, one.start_line, one.rule) for one in made.findings] == [
        ("shop/basket.py", 3, "conflict-marker"),
        ("web/x y.py", 2, "conflict-marker"),
        ("shop/orders.py", 1, "still-used"),
        ("shop/orders.py", 5, "still-used"),
    ]
    assert [(file.path, file.added, file.removed) for file in made.files] == [
        ("shop/basket.py", 2, 5),
        ("web/x y.py", 2, 0),
    ]


def test_a_removed_method_or_what_is_imported_instead_is_not_still_used(tmp_path: Path) -> None:
    top, orders = git.new(tmp_path / "top"), FILES["shop/orders.py"] + "\n\ndef run(start):\n    return start\n"
    timer = "class Timer:\n    def start(self): ...\n\n\n"
    git.commit(top, "one", {"shop/basket.py": timer + BASKET, "b.py": orders})
    elsewhere = orders.replace("gone, total", "total\nfrom lib import gone", 1)
    git.write(top, {"shop/basket.py": "class Timer:\n    pass\n", "b.py": elsewhere})
    made = review_of(top)
    assert [(one.start_line, one.reason.split()[0]) for one in made.findings] == [(1, "`total`"), (6, "`total`")]


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [("gone, total", "extra, gone, total", [1, 5]), ("from shop.basket", "from acme.shop.basket", [])],
)
def test_a_name_is_still_used_where_its_import_gets_another(
    tmp_path: Path, old: str, new: str, lines: list[int]
) -> None:
    top = git.new(tmp_path / "top")
    git.commit(top, "one", dict(FILES))
    orders = FILES["shop/orders.py"].replace(old, new)
    git.write(top, {"shop/basket.py": BASKET.replace("def gone", "def extra"), "shop/orders.py": orders})
    assert [one.start_line for one in review_of(top).findings] == lines


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (
            "B.java",
            "class B extends A {\n  int one() {\n    return 1;\n  }\n\n  int run() {\n    return one();\n  }\n}\n",
        ),
        ("b.rb", "class B < A\n  def one\n    1\n  end\n\n  def run\n    one()\n  end\nend\n"),
        ("b.py", "class B(A):\n    def one(self):\n        return 1\n\n    def run(self, one):\n        return one\n"),
    ],
)
def test_a_removed_method_that_a_base_may_have_is_not_still_used(tmp_path: Path, path: str, code: str) -> None:
    top = git.new(tmp_path / "top")
    git.commit(top, "one", {path: code})
    first, *_, last = code.split("\n\n")
    git.write(top, {path: first.partition("\n")[0] + "\n" + last})
    assert review_of(top).findings == ()


@pytest.mark.parametrize(
    ("path", "code", "used"),
    [
        ("a.py", "def use(x):\n    # calls gone()\n    return x.gone", False),
        ("a.py", 'def use(x):\n    """Calls gone()."""\n    return x.gone', False),
        ("a.py", "def use(x):\n    return f'{gone()} gone'", True),
        ("a.py", "def use(gone):\n    return gone()", False),
        ("a.py", "def use(x, gone: int = 1):\n    return x + gone", False),
        ("a.py", "def use(x):\n    return [gone for gone in x]", False),
        ("a.py", "def use(x):\n    with x as gone:\n        return gone", False),
        ("a.py", "def use(x):\n    return x(gone=1)", False),
        ("a.py", "def use(x):\n    return map(gone, x)", True),
        (
            "a.py",
            "try:\n    from lib import gone\nexcept ImportError:\n    gone = None\n\n\ndef use():\n    gone()",
            False,
        ),
        ("a.py", "@gone\ndef use():\n    return 1", True),
        ("a.py", "def use():\n    yield gone\n    assert gone", True),
        ("a.py", "SIZES = {**gone}", True),
        ("a.py", "def use[gone](x: list[gone]) -> gone:\n    return x[0]", False),
        ("a.py", "def use(x: list[gone]):\n    return x[0]", True),
        ("a.py", "def use(x):\n    with x() as (a, gone):\n        return gone + a", False),
        ("a.js", "function use({ gone }) {\n  return gone(1);\n}", False),
        ("a.js", "function use(...gone) {\n  return f(gone);\n}", False),
        ("a.js", "export { gone };", True),
        ("a.js", "export { gone } from 'lib';\n\nconst use = (x) => gone(x);", False),
        ("a.ts", "interface Use {\n  one: gone[];\n  two: gone | null;\n}", True),
        ("a.js", "const use = (x) => `${gone(x)}`;", True),
        ("a.go", "func use() int {\n\tgone := 1\n\treturn gone\n}", False),
        ("a.go", "func use() int {\n\tx := gone()\n\treturn x\n}", True),
        ("a.go", "type Use struct {\n\tx *gone\n}", True),
        ("a.c", "int use(int gone) {\n  return gone; /* gone(1) */\n}", False),
        ("a.c", "int use(int x) {\n  return gone(x);\n}", True),
        ("a.rs", "fn run() -> i32 {\n    let f = |gone: i32| gone;\n    f(1)\n}", False),
        ("a.rs", "fn run() -> i32 {\n    Gone::new()\n}", True),
        ("a.rs", "fn run() -> i32 {\n    gone::new()\n}", False),
        ("a.rs", "impl Gone for Use {}\n\nfn run() -> Use {\n    Gone { x: 1 }\n}", True),
        ("a.rs", "fn run() {\n    assert_eq!(gone(), 1);\n}", True),
        ("a.rs", "fn run() {\n    info!(gone = 1);\n}", False),
        ("a.rs", "on! {\n    fn gone() {}\n}\n\nfn run() {\n    gone();\n}", False),
        ("a.java", "@Gone\nclass Use {\n  @Gone(1)\n  Gone x() {\n    return null;\n  }\n}", True),
        ("a.rb", "def use(x)\n  x.each { |gone| gone }\nend", False),
        ("a.rb", "def use(x)\n  gone x\nend", True),
    ],
)
def test_a_removed_name_is_still_used_where_nothing_else_has_it(
    tmp_path: Path, path: str, code: str, used: bool
) -> None:
    top, name = git.new(tmp_path / "top"), "Gone" if "Gone" in code else "gone"
    git.commit(top, "one", {path: f"{GONE[path[1:]].replace('gone', name)}{code}\n"})
    git.write(top, {path: f"{code}\n"})
    assert bool(review_of(top).findings) is used


@pytest.mark.parametrize(
    ("path", "code", "lines"),
    [
        ("shop/orders.py", "from shop.basket import gone\n\n\ndef use():\n    return gone()\n", [1, 5]),
        ("shop/orders.py", "from .basket import (\n    gone,\n)\n\n\ndef use():\n    return gone()\n", [2, 7]),
        ("shop/orders.py", "from lib import gone\n\n\ndef use():\n    return gone()\n", []),
        ("shop/orders.py", "from lib import *\n\n\ndef use():\n    return gone()\n", []),
        ("shop/orders.py", "import gone\n\n\ndef use():\n    return gone.one()\n", []),
        ("shop/orders.py", "def use():\n    return gone()\n", []),
    ],
)
def test_a_removed_name_is_still_used_elsewhere_if_it_is_imported_from_where_it_was(
    tmp_path: Path, path: str, code: str, lines: list[int]
) -> None:
    top = git.new(tmp_path / "top")
    git.commit(top, "one", {"shop/basket.py": BASKET, path: code})
    git.write(top, {"shop/basket.py": BASKET.partition("\n\n\n")[0] + "\n"})
    assert [one.start_line for one in review_of(top).findings] == lines


@pytest.mark.parametrize(
    ("origin", "path", "code", "lines"),
    [
        ("src/date-utils.ts", "src/app.ts", "import { gone } from './date-utils';\n\nprint(gone(1));\n", [1, 3]),
        ("src/a.service.ts", "src/app.ts", "import { gone } from './a.service.js';\n\nprint(gone(1));\n", [1, 3]),
        ("src/db.ts", "web/app.ts", "import { gone } from '../src/db';\n\nprint(gone(1));\n", [1, 3]),
        ("src/gone.ts", "web/app.ts", "import { gone } from '@/gone';\n\nprint(gone(1));\n", [1, 3]),
        ("src/gone.ts", "web/app.ts", "import { gone } from './gone';\n\nprint(gone(1));\n", []),
        ("src/db.ts", "app.ts", "import { gone } from './db';\n\nprint(gone(1));\n", []),
        ("src/db.ts", "web/x/app.ts", "import { gone } from '../db';\n\nprint(gone(1));\n", []),
        ("web/db.ts", "web/x/app.ts", "import { gone } from '../db';\n\nprint(gone(1));\n", [1, 3]),
        ("src/index.ts", "test/app.ts", "import { gone } from '../src';\n\nprint(gone(1));\n", [1, 3]),
        ("src/index.ts", "src/app.ts", "import { gone } from '.';\n\nprint(gone(1));\n", [1, 3]),
        ("src/index.ts", "web/test/app.ts", "import { gone } from '../src';\n\nprint(gone(1));\n", []),
        ("src/index.ts", "src/web/app.ts", "import { gone } from '..';\n\nprint(gone(1));\n", [1, 3]),
        ("src/web/index.ts", "src/web/app.ts", "import { gone } from '..';\n\nprint(gone(1));\n", []),
        ("index.ts", "web/app.ts", "import { gone } from '..';\n\nprint(gone(1));\n", [1, 3]),
        ("src/date.ts", "src/app.ts", "import { date, gone } from 'lodash';\n\nprint(gone(date));\n", []),
        ("src/db.js", "src/app.js", "const {\n  gone,\n} = require('./db');\n\nclass Use extends gone {}\n", [2, 5]),
        ("src/db.js", "src/app.js", "const { gone: a } = require('./db.js');\n\nprint(a(1));\n", [1]),
        ("src/db.js", "src/app.js", "const { a, gone } = require('db2');\n\nprint(gone(a));\n", []),
        ("src/a.js", "src/app.js", "const { a, gone } = require('lodash');\n\nprint(gone(a));\n", []),
        ("src/db.js", "bin/app", "#!/usr/bin/env node\nimport { db } from 'lodash';\n\nprint(gone(db));\n", []),
        ("pkg/date.py", "pkg/app.py", "from lib import date, gone\n\nprint(gone(date))\n", []),
        ("web/db.py", "web/x/app.py", "from ..db import gone\n\nprint(gone())\n", [1, 3]),
        ("web/x/db.py", "web/x/app.py", "from ..db import gone\n\nprint(gone())\n", []),
        ("web/__init__.py", "web/x/app.py", "from .. import gone\n\nprint(gone())\n", [1, 3]),
        ("src/__init__.py", "web/app.py", "from src import gone\n\nprint(gone())\n", [1, 3]),
        ("api/src/__init__.py", "api/app.py", "from src import gone\n\nprint(gone())\n", [1, 3]),
        ("src/lib.rs", "src/main.rs", "use crate::gone;\n\nfn main() {\n    gone();\n}\n", [1, 4]),
        ("cli/src/lib.rs", "cli/src/a.rs", "use crate::{b, gone};\n\nfn main() {\n    gone();\n}\n", [1, 4]),
        ("src/db.rs", "src/main.rs", "use crate::shop::gone;\n\nfn main() {\n    gone();\n}\n", []),
        ("pkg/gone.py", "pkg/app.py", "from .gone import gone\n\nprint(gone())\n", [1, 3]),
        ("pkg/__init__.py", "pkg/app.py", "from . import gone\n\nprint(gone())\n", [1, 3]),
        ("pkg/urls.py", "pkg/app.py", "from . import gone\n\nprint(gone.one)\n", []),
        ("pkg/urls.py", "web/app.py", "from pkg.urls import gone\n\nprint(gone())\n", [1, 3]),
        ("pkg/urls.py", "web/app.py", "from django.urls import gone\n\nprint(gone())\n", []),
        ("src/shop.rs", "src/main.rs", "use crate::shop::gone;\n\nfn main() {\n    gone();\n}\n", [1, 4]),
        ("src/db.c", "web/use.c", '#include "../db.h"\n\nint use(int x) {\n  return gone(x);\n}\n', [4]),
        ("my-list.c", "use.c", '#include "my-list.h"\n\nint use(int x) {\n  return gone(x);\n}\n', [4]),
    ],
)
def test_an_import_leads_to_the_file_that_it_names(
    tmp_path: Path, origin: str, path: str, code: str, lines: list[int]
) -> None:
    top = git.new(tmp_path / "top")
    git.commit(top, "one", {origin: GONE[Path(origin).suffix], path: code})
    git.write(top, {origin: "x = 1\n" if origin.endswith(".py") else "const x = 1;\n"})
    assert [one.start_line for one in review_of(top).findings if one.path == path] == lines


@pytest.mark.parametrize(
    ("suffix", "now", "lines"),
    [
        (".js", "exports.gone = require('./b').a;\n", []),
        (".js", "module.exports = {\n  gone: 1,\n};\n", []),
        (".ts", "export { gone } from 'lib';\n", []),
        (".py", "from lib import (\n    a as gone,\n)\n", []),
        (".py", "from lib import (\n    a,\n    gone\n)\n", []),
        (".py", "from lib import a, gone  # noqa: F401\n", []),
        (".ts", "export {\n  b as gone\n} from './b';\n", []),
        (".py", "(a, *gone) = 1, 2\n", []),
        (".py", "a = gone = print\n", []),
        (".c", "int gone(int x);\n", []),
        (".c", "int gone(unsigned);\n", []),
        (".c", "int gone(int x,\n         int y) __attribute__((pure));\n", []),
        (".py", "gone, = [print]\n", []),
        (".py", "if print:\n    gone, stay = print, 1\n", []),
        (".py", "try: a = print\nexcept (KeyError, OSError): gone = None\n", []),
        (".py", "def a(x):\n    if x: gone = 1\n", [1, 3]),
        (".py", "if gone: stay = 1\n", [1, 1, 3]),
        (".cpp", 'extern "C" {\n    int gone(int x);\n}\n', []),
        (".cpp", 'extern "C" { int gone(int x); }\n', []),
        (".cpp", "namespace a { namespace b::c { int gone(int x); } }\n", []),
        (".cpp", "namespace a { inline int b() { return gone(1); } }\n", [1, 4]),
        (".py", '# gone()\n"""Replaces: gone, stay\n\nUnlike gone and others x = 2 here\n"""\nx = "gone"\n', [1, 3]),
        (".py", "def a(gone): ...\n\n\ndef b():\n    old, gone = 3, 4\n    return gone\n", [1, 3]),
        (".js", "function a(x) {\n  const gone = x > 1;\n}\n\nfunction b(x) {\n  let gone = x > 1;\n}\n", [1]),
        (".c", "// int gone(int x);\n/*\n * int gone(int x);\n */\nint x; // TODO: gone(x)\nENTRY gone(1);\n", [4]),
    ],
)
def test_a_name_is_passed_on_but_not_by_a_mention(tmp_path: Path, suffix: str, now: str, lines: list[int]) -> None:
    top = git.new(tmp_path / "top")
    git.commit(top, "one", {f"db{suffix}": GONE[suffix], f"use{suffix}": USES[suffix]})
    git.write(top, {f"db{suffix}": now})
    assert [one.start_line for one in review_of(top).findings] == lines


def test_a_removed_name_that_the_language_has_is_not_still_used(tmp_path: Path) -> None:
    top, use = git.new(tmp_path / "top"), {"a.py": "def use(x):\n    return max(x)\n", "b.js": "print(max(1));\n"}
    use |= {"c.go": "func use() int {\n\treturn max(1, 2)\n}\n", "d.c": "int use(int x) {\n  return max(x);\n}\n"}
    git.commit(top, "one", {path: GONE[Path(path).suffix].replace("gone", "max") + code for path, code in use.items()})
    git.write(top, use)
    assert [one.path for one in review_of(top).findings] == ["b.js"]


def test_no_file_is_parsed_for_a_name_that_has_enough_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = list[str]()

    def counted(path: str, data: bytes) -> ParsedFile:
        parsed.append(path)
        return parse_or_plain(path, data)

    monkeypatch.setattr(uses, "parse_or_plain", counted)
    top, users = git.new(tmp_path / "top"), {f"shop/user{number}.py": FILES["shop/orders.py"] for number in range(9)}
    git.commit(top, "one", {"shop/basket.py": BASKET, **users})
    git.write(top, {"shop/basket.py": BASKET.partition("\n\n\n")[0] + "\n"})
    assert len(review_of(top).findings) == 5
    assert len(parsed) == 3


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("`shop/basket.py:2` - high - it takes the largest", ("shop/basket.py", 2, 2, "high", "it takes the largest")),
        ("1. **basket.py:1-2**: medium: wrong `total`", ("shop/basket.py", 1, 2, "medium", "wrong `total`")),
        ("- shop/basket.py:2 | Low confidence | maybe", ("shop/basket.py", 2, 2, "low", "maybe")),
        ("shop/basket.py:2: no level is given", ("shop/basket.py", 2, 2, "low", "no level is given")),
        ("- (`shop/basket.py:2`, **high**) - calls max()", ("shop/basket.py", 2, 2, "high", "calls max()")),
        ("**shop/basket.py:2: low: here (`x`)**", ("shop/basket.py", 2, 2, "low", "here (`x`)")),
        ("(shop/basket.py:2: low: too large.)", ("shop/basket.py", 2, 2, "low", "too large")),
        ("shop/orders.py:4 high away from the change", ("shop/orders.py", 4, 4, "medium", "away from the change")),
        ("shop/basket.py:2 high `invented_name` fails", ("shop/basket.py", 2, 2, "low", "`invented_name` fails")),
    ],
)
def test_a_finding_is_read_and_checked(
    review: Callable[[str], Review], line: str, expected: tuple[object, ...]
) -> None:
    made = review(f"This replaces the sum by the maximum. The problems are:\n\n{line}\n")
    assert model(made) == [expected]
    assert made.summary == "This replaces the sum by the maximum."
    assert made.unsupported == 0


@pytest.mark.parametrize(
    "line",
    [
        "shop/basket.py:99 - high - beyond the end",
        "shop/nowhere.py:1 - high - no such file",
        "orders.py:1 - high - which of the two",
        "shop/basket.py:2-1 - high - backwards",
        "shop/basket.py:0 - high - no line",
        "shop/basket.py:2",
        "http://example.org:80 - high - no place at all",
    ],
)
def test_what_names_no_line_is_left_out_and_counted(review: Callable[[str], Review], line: str) -> None:
    made = review(line)
    assert model(made) == []
    assert made.unsupported == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from(["shop/basket.py", "orders.py", ":", "1", "2", "99", "-", " ", "high", "`x`", "\n", "\0", "é"])
    )
)
def test_whatever_is_said_findings_stand_at_lines_that_exist(review: Callable[[str], Review], parts: list[str]) -> None:
    made = review("".join(parts))
    for one in made.findings:
        text = {"shop/basket.py": 3, "shop/orders.py": 5, "web/orders.py": 1, "web/x y.py": 2}
        assert 1 <= one.start_line <= one.end_line <= text[one.path]
        assert one.reason
    VALID.validate(sarif(made, "0.1.0", [Folder(Path("/"))]))


@pytest.mark.parametrize(
    ("written", "lines"),
    [
        ("return sum(items)\n<<<<<<< HEAD", {2: "return sum(items)"}),
        ("return max(items)  # the largest\n<<<<<<< HEAD", {}),
        ("  return max(items)\n<<<<<<< HEAD", {}),
        ("if not items:\n        return 0\n    return max(items)\n<<<<<<< HEAD", {}),
        ("raise NotImplementedError", {}),
        ("", {}),
    ],
)
def test_a_changed_line_that_an_answer_corrects_is_a_finding(
    changed: tuple[Workspace, Path], written: str, lines: dict[int, str]
) -> None:
    workspace, top = changed
    found = read_changes(git.sources_of(top), workspace, "", Cancellation())
    first = repetitions(found, workspace)[0]
    assert (first.path, first.start, first.lines[:2]) == (
        "shop/basket.py",
        1,
        ("def total(items):", "    return max(items)"),
    )
    corrected = first.findings(f"Here it is:\n\n```python\ndef total(items):\n    {written}\n```\nIt was wrong.")
    assert {one.start_line: one.reason for one in corrected} == {
        line: f"the model corrects this to `{text}`" for line, text in lines.items()
    }
    assert first.findings("No problems.") == []
    made = reviewed("", found, workspace, corrected)
    assert [one.start_line for one in made.findings if one.rule == CORRECTED] == list(lines)
    VALID.validate(sarif(made, "0.1.0", [Folder(top)]))


@pytest.mark.parametrize(
    ("code", "answer", "corrected"),
    [
        ("total = sum(prices)", "```\ntotal = sum(pri", None),
        ("total = sum(prices)\nreturn total", "```\r\ntotal = max(prices)\r\nreturn to", "`total = max(prices)`"),
        ("total = sum(prices)", "```\n\ttotal = sum( prices )\n```", None),
        ("total = sum(prices)", "```\ntotal = sum(\n    prices\n)\n```", None),
        ('join(", ", names)', '```\njoin(",", names)\n```', '`join(",", names)`'),
        ('text = """\n```py\n"""\nreturn one', '````\ntext = """\n```py\n"""\nreturn two\n````', "`return two`"),
        ("word = 'a\u2028bcdefghij'", "```\nword = 'a\u2028bcdefghij'\n```", None),
        ("label = `${one}`", "```\nlabel = `${two}`\n```", "`` label = `${two}` ``"),
        ("*count = n + 1;", "```\n*count = n - 1;\n```", "`*count = n - 1;`"),
        ("--left_of_all;", "```\n++left_of_all;\n```", "`++left_of_all;`"),
        ("#if LIMIT > 2", "```\n#if LIMIT >= 2\n```", "`#if LIMIT >= 2`"),
        ("# a comment on it", "```\n# a comment on this\n```", None),
        ("-- a comment on it", "```\n-- a comment on this\n```", None),
        ("x = " + "f(a, b) + " * 490, "```\ny = " + "f(a, c) + " * 490 + "\n```", f"`y = {'f(a, c) + ' * 39}f(a, c`"),
    ],
)
def test_corrections_are_read_from_any_answer(code: str, answer: str, corrected: str | None) -> None:
    lines = tuple(code.split("\n"))
    asked = Repetition("a.py", 1, lines, frozenset(range(1, len(lines) + 1)))
    found = [one.reason.removeprefix("the model corrects this to ") for one in asked.findings(answer)]
    assert found == ([] if corrected is None else [corrected])
    assert asked.findings(asked.question) == []
    assert asked.question.count("````" if "```" in code else "```") == 2


def test_sarif(review: Callable[[str], Review], changed: tuple[Workspace, Path]) -> None:
    document = sarif(review("shop/basket.py:2 - high - the largest"), "0.1.0", [Folder(changed[1])])
    VALID.validate(document)
    results = document["runs"][0]["results"]
    uris = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results]
    assert "web/x%20y.py" in uris
    with pytest.raises(jsonschema.ValidationError):
        VALID.validate({**document, "version": "3"})


def test_paths_of_sarif_begin_at_the_top_of_the_repository(tmp_path: Path) -> None:
    top, other = git.new(tmp_path / "one"), tmp_path / "no repository"
    git.write(top, {"services/api/a b.py": "", "web/b.py": ""})
    git.write(other, {"c.py": ""})
    folders = [Folder(top / "services/api", "api"), Folder(top / "web", "web"), Folder(other, "other")]
    found = tuple(Finding(path, 1, 1, "x", "low", "model") for path in ("api/a b.py", "web/b.py", "other/c.py"))
    document = sarif(Review("t", (), "", found, 0), "0.1.0", folders)
    VALID.validate(document)
    (run,) = document["runs"]
    assert [result["locations"][0]["physicalLocation"]["artifactLocation"] for result in run["results"]] == [
        {"uri": "services/api/a%20b.py", "uriBaseId": "%SRCROOT%"},
        {"uri": "web/b.py", "uriBaseId": "%SRCROOT%"},
        {"uri": "c.py", "uriBaseId": "%SRCROOT1%"},
    ]
    assert run["originalUriBaseIds"] == {
        "%SRCROOT%": {"uri": f"{top.as_uri()}/"},
        "%SRCROOT1%": {"uri": f"{other.as_uri()}/"},
    }

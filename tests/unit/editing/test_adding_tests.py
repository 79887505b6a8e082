"""A test goes where tests of its function are, or where they would be."""

from __future__ import annotations

import pytest

from winnow_engine.editing.adding_tests import adding_tests
from winnow_engine.editing.changes import check_sound
from winnow_engine.editing.request import EditKind, WantedEdit
from winnow_engine.errors import NoCodeError, NotApplicableError
from winnow_engine.question import Cursor

UNIT_PRICE = "def unit_price(count):\n    return 9 if count >= 10 else 10\n"
PRICING = f"{UNIT_PRICE}\n\ndef delivery(heavy):\n    return 15 * heavy\n"
TESTS = '''"""Tests of prices."""

import pytest

from shop.pricing import unit_price


def test_one_piece_costs_ten():
    assert unit_price(1) == 10


@pytest.fixture
def unrelated():
    return 1
'''
UNITTEST = """import unittest

from shop.pricing import unit_price


class PricingTest(unittest.TestCase):
    def test_one(self):
        self.assertEqual(unit_price(1), 10)


if __name__ == "__main__":
    unittest.main()
"""
GO = "package shop\n\nfunc UnitPrice(count int) int {\n\treturn 10 * count\n}\n"
GO_TEST = """package shop

import "testing"

func TestOne(t *testing.T) {
\tif UnitPrice(1) != 10 {
\t\tt.Fail()
\t}
}
"""


def task(reading, files, path="shop/pricing.py", line=1):
    return adding_tests(reading(files), WantedEdit(EditKind.TEST, Cursor(path, line, line)))


def added(reading, files, code, **of) -> tuple[str, str]:
    edit = task(reading, files, **of).read(code)
    assert check_sound(edit)
    return edit.path, edit.after.decode()


NEW = "def test_many_are_cheaper():\n    assert unit_price(10) == 9\n"


def test_it_is_put_below_the_last_test_that_names_the_function(reading) -> None:
    files = {"shop/pricing.py": PRICING, "tests/test_prices.py": TESTS, "tests/test_other.py": "def test_x(): pass\n"}
    path, after = added(reading, files, NEW)
    assert path == "tests/test_prices.py"
    assert after == TESTS.replace("== 10\n", f"== 10\n\n\n{NEW}")


def test_the_prompt_shows_the_function_the_imports_and_a_test(reading) -> None:
    made = task(reading, {"shop/pricing.py": PRICING, "tests/test_prices.py": TESTS})
    for shown in ("return 9 if count", "import pytest", "def test_one_piece", "one new test of `unit_price`"):
        assert shown in made.prompt
    assert "def delivery" not in made.prompt
    assert made.shown == [Cursor("shop/pricing.py", 1, 2), Cursor("tests/test_prices.py", 8, 9)]


@pytest.mark.parametrize(
    "code",
    [
        f"from shop.pricing import unit_price\n\n\n{NEW}",
        f"import pytest\nfrom shop.pricing import unit_price\n\n{NEW}",
        f"{UNIT_PRICE}\n\n{NEW}",
        f"{TESTS}\n\n{NEW}",
        f'{NEW}\n\nif __name__ == "__main__":\n    pytest.main()\n',
    ],
    ids=["imports", "more imports", "the function again", "the whole file", "a main"],
)
def test_what_is_there_is_not_added_again(reading, code: str) -> None:
    files = {"shop/pricing.py": PRICING, "tests/test_prices.py": TESTS}
    assert added(reading, files, code)[1] == TESTS.replace("== 10\n", f"== 10\n\n\n{NEW}")


def test_new_imports_go_to_the_others(reading) -> None:
    code = f"import math\nfrom shop.pricing import unit_price\n\n\n{NEW}"
    after = added(reading, {"shop/pricing.py": PRICING, "tests/test_prices.py": TESTS}, code)[1]
    assert "from shop.pricing import unit_price\nimport math\n" in after
    assert after.endswith(TESTS[TESTS.index("@pytest.fixture") :])


def test_a_test_with_a_name_that_is_taken_gets_a_number(reading) -> None:
    code = "def test_one_piece_costs_ten():\n    assert unit_price(10) == 9\n"
    after = added(reading, {"shop/pricing.py": PRICING, "tests/test_prices.py": TESTS}, code)[1]
    assert "def test_one_piece_costs_ten_2():\n    assert unit_price(10) == 9\n" in after


@pytest.mark.parametrize(
    "code",
    [
        "def test_many(self):\n    self.assertEqual(unit_price(10), 9)\n",
        "class Test(unittest.TestCase):\n    def test_many(self):\n        self.assertEqual(unit_price(10), 9)\n",
    ],
)
def test_in_a_class_it_is_a_method(reading, code: str) -> None:
    path, after = added(reading, {"shop/pricing.py": PRICING, "tests/prices_test.py": UNITTEST}, code)
    method = "    def test_many(self):\n        self.assertEqual(unit_price(10), 9)\n"
    assert (path, after) == ("tests/prices_test.py", UNITTEST.replace("(1), 10)\n", f"(1), 10)\n\n{method}"))


def test_crlf_stays(reading) -> None:
    files = {"shop/pricing.py": PRICING, "tests/test_prices.py": TESTS.replace("\n", "\r\n")}
    after = added(reading, files, NEW)[1]
    assert after.count("\n") == after.count("\r\n") > TESTS.count("\n")


def test_tabs_stay(reading) -> None:
    code = "func TestMany(t *testing.T) {\n    if UnitPrice(2) != 20 {\n        t.Fail()\n    }\n}\n"
    files = {"shop/price.go": GO, "shop/price_test.go": GO_TEST}
    after = added(reading, files, f'package shop\n\nimport "testing"\n\n{code}', path="shop/price.go", line=3)[1]
    assert after == f"{GO_TEST}\n{code.replace('    ', chr(9))}"


RUST = """pub fn add(a: i32) -> i32 {
    a + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one() {
        assert_eq!(add(1), 2);
    }
}
"""


def test_tests_in_the_same_file_stay_in_their_module(reading) -> None:
    code = "#[test]\nfn two() {\n    assert_eq!(add(2), 3);\n}\n"
    path, after = added(reading, {"src/lib.rs": RUST}, code, path="src/lib.rs")
    assert path == "src/lib.rs"
    new = "\n    #[test]\n    fn two() {\n        assert_eq!(add(2), 3);\n    }\n"
    assert after == RUST.replace("2);\n    }\n", f"2);\n    }}\n{new}")


def test_tests_that_are_calls_go_to_the_end(reading) -> None:
    files = {
        "src/price.ts": "export function unitPrice(n: number) {\n  return 10 * n;\n}\n",
        "src/price.test.ts": 'import { unitPrice } from "./price";\n\n'
        'test("one", () => {\n  expect(unitPrice(1)).toBe(10);\n});\n',
    }
    code = 'test("two", () => {\n  expect(unitPrice(2)).toBe(20);\n});\n'
    path, after = added(reading, files, code, path="src/price.ts")
    assert (path, after) == ("src/price.test.ts", f"{files['src/price.test.ts']}\n{code}")


@pytest.mark.parametrize(
    ("files", "path", "new"),
    [
        ({"shop/pricing.py": PRICING}, "shop/pricing.py", "tests/test_pricing.py"),
        ({"shop/a.py": PRICING, "shop/tests/test_b.py": "x = 1\n"}, "shop/a.py", "shop/tests/test_a.py"),
        ({"a/b/c.py": PRICING, "a/tests/test_b.py": "x = 1\n", "z/tests/test_b.py": "x = 1\n"}, "a/b/c.py",
         "a/tests/test_c.py"),
        ({"shop/price.go": GO}, "shop/price.go", "shop/price_test.go"),
        ({"src/main/java/p/A.java": "class A {\n  int f() {\n    return 1;\n  }\n}\n"}, "src/main/java/p/A.java",
         "src/test/java/p/ATest.java"),
        ({"src/a.js": "function f() {\n  return 1;\n}\n"}, "src/a.js", "src/a.test.js"),
    ],
)  # fmt: skip
def test_a_new_file_is_called_as_is_usual(reading, files, path: str, new: str) -> None:
    line = next(
        n for n, text in enumerate(files[path].split("\n"), 1) if "def " in text or "func" in text or "f()" in text
    )
    made = task(reading, files, path=path, line=line)
    assert f"Write {new}: first its imports" in made.prompt
    name = made.title.split("`")[1].rpartition(".")[2]
    edit = made.read(f"// {name}\n")
    assert (edit.path, edit.before) == (new, None)


def test_of_a_new_file_the_function_itself_is_left_out(reading) -> None:
    code = f"from shop.pricing import unit_price\n\n\ndef unit_price(count):\n    return 1\n\n\n{NEW}"
    path, after = added(reading, {"shop/pricing.py": PRICING}, code)
    assert path == "tests/test_pricing.py"
    assert "def unit_price" not in after
    assert after.startswith("from shop.pricing import unit_price\n")
    assert after.endswith(NEW)


def test_an_empty_file_that_is_there_is_filled(reading) -> None:
    path, after = added(reading, {"shop/pricing.py": PRICING, "tests/test_pricing.py": "\n"}, NEW)
    assert (path, after.strip("\n")) == ("tests/test_pricing.py", NEW.strip("\n"))


@pytest.mark.parametrize("code", ["", "def test_nothing():\n    assert True\n", "import pytest\n"])
def test_what_does_not_test_the_function_is_refused(reading, code: str) -> None:
    for files in ({"shop/pricing.py": PRICING}, {"shop/pricing.py": PRICING, "tests/test_prices.py": TESTS}):
        with pytest.raises(NoCodeError):
            task(reading, files).read(code)


@pytest.mark.parametrize(
    ("path", "text", "line", "why"),
    [
        ("shop/pricing.py", "RATE = 1\n", 1, "put the cursor on the function"),
        ("notes.txt", "words\n", 1, "put the cursor on the function"),
        ("src/lib.rs", "pub fn add(a: i32) -> i32 {\n    a + 1\n}\n", 1, "begin one that names `add`"),
    ],
)
def test_what_cannot_be_tested_says_why(reading, path: str, text: str, line: int, why: str) -> None:
    with pytest.raises(NotApplicableError, match=why):
        task(reading, {path: text}, path=path, line=line)

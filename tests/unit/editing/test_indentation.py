"""Code from a model stands where it is to stand."""

from __future__ import annotations

import pytest

from winnow_engine.editing.reply import reindented

CODE = ["def f():", "    if x:", "        return 1", ""]


@pytest.mark.parametrize(("margin", "like"), [("", ["    def f():", "        pass"]), ("        ", ["    def f():"])])
def test_a_method_is_indented_or_brought_back(margin: str, like: list[str]) -> None:
    written = [f"{margin}{line}" if line else line for line in CODE]
    assert reindented(written, like) == [*(f"    {line}" for line in CODE[:3]), ""]


@pytest.mark.parametrize("width", [2, 4, 8])
def test_tabs_stay_tabs(width: int) -> None:
    code = ["def f():", f"{' ' * width}if x:", f"{' ' * 2 * width}return 1"]
    like = ["\tdef f():", "\t\treturn 0"]
    assert reindented(code, like) == ["\tdef f():", "\t\tif x:", "\t\t\treturn 1"]


def test_lines_of_a_string_left_of_the_code_stay() -> None:
    code = ["  def f():", '    return """', "left", '"""']
    assert reindented(code, ["    def f():"]) == ["    def f():", '      return """', "left", '"""']


@pytest.mark.parametrize("margin", ["    ", "\t"])
def test_lines_of_a_string_that_the_code_has_stay(margin: str) -> None:
    like = [f"{margin}f() {{", f"{margin * 2}g(`", "{", "    id", "`)", f"{margin}}}"]
    code = ["f() {", "    if x {", "    }", "    g(`", *like[2:5], "}"]
    moved = [like[0], f"{margin * 2}if x {{", f"{margin * 2}}}", *like[1:]]
    assert reindented(code, like) == moved

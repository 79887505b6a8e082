"""Arguments as models write them."""

from typing import Any

import pytest

from winnow_lsp.mcp.arguments import Arguments, read_arguments
from winnow_lsp.mcp.relay import tools

SCHEMAS = {tool["name"]: tool["inputSchema"] for tool in tools("")}
NAMES = "(the arguments are question, pattern, paths, budget)"


@pytest.mark.parametrize(
    ("tool", "given", "values", "notices"),
    [
        ("find_code", {}, {}, []),
        *(
            ("find_code", {"paths": paths}, {"paths": ("src", "b c")}, [])
            for paths in (["src", "b c"], '["src", "b c"]', "src\n b c ", ["src", None, "", "b c"])
        ),
        *(("find_code", {name: "src"}, {"paths": ("src",)}, []) for name in ("paths", "path", "Paths", "glob")),
        ("find_code", {"paths": "[ab]*.py"}, {"paths": ("[ab]*.py",)}, []),
        ("find_code", {"paths": 7}, None, "paths has to be a list"),
        ("find_code", {"paths": [{"path": "src"}]}, None, "paths has to be text"),
        ("find_code", {"paths": ["a"] * 101}, None, "paths has 101 items"),
        *(("find_code", {"paths": nothing}, {}, []) for nothing in (None, "", [], {})),
        *(
            ("find_code", {"budget": budget}, {"budget": 500}, [])
            for budget in (500, 500.0, "500", " 500.0 ", "5e2", 500.7)
        ),
        ("find_code", {"maxTokens": "1,500"}, {"budget": 1500}, []),
        ("find_code", {"budget": 10**400}, {"budget": 20000}, ["a number of many digits: taken as 20,000"]),
        ("find_code", {"budget": float("inf")}, {"budget": 20000}, ["budget is inf: taken as 20,000"]),
        ("find_code", {"budget": "-1"}, {"budget": 100}, ["budget is '-1': taken as 100"]),
        *(
            ("find_code", {"budget": odd}, None, "budget has to be a whole number")
            for odd in (True, "many", float("nan"), [1, 2], {"a": 1})
        ),
        ("find_code", {"limit": 3, "x\n": 1}, {}, [f"ignored: limit, x\\n {NAMES}"]),
        ("find_code", {"path": "a", "paths": "b"}, {"paths": ("b",)}, [f"ignored: path {NAMES}"]),
        ("find_code", {"question": ["Where?"]}, {}, []),
        ("find_code", {"question": None, "regex": "a|b"}, {"pattern": "a|b"}, []),
        ("find_code", {"question": "", "query": "Where?"}, {}, []),
        ("ask", {"question": ""}, None, "question is missing: The question, in a sentence"),
        ("find_code", {"question": {"text": "Where?"}}, None, "question has to be text"),
        ("find_code", {"question": "x" * 100_001}, None, "100,001 characters"),
        ("explain_place", {"filePath": "a.py", "startLine": "0"}, {"path": "a.py", "start_line": 1}, ["taken as 1"]),
        ("explain_place", {"file": "a.py", "line": 2, "end_line": None}, {"path": "a.py", "start_line": 2}, []),
        ("explain_place", {"path": "a.py", "end-line": -1}, {"path": "a.py", "end_line": -1}, []),
        ("explain_place", {"start_line": 1}, None, "path is missing"),
        ("outline", {"path": ["src"]}, {"path": "src"}, []),
        ("outline", {"paths": ["src"]}, {"path": "src"}, []),
        ("outline", {"glob": "src"}, {"path": "src"}, []),
        (
            "outline",
            {"paths": ["src"], "path": "lib"},
            {"path": "lib"},
            ["ignored: paths (the arguments are path, budget)"],
        ),
        ("outline", {"path": ["src", "b"]}, None, "path has to be text"),
    ],
)
def test_arguments_are_understood_or_said_to_be_wrong(
    tool: str, given: dict[str, Any], values: dict[str, Any] | None, notices: list[str] | str
) -> None:
    if tool == "find_code" and not {"question", "query"} & given.keys():
        given = {"question": "Where?", **given}
    if values is None:
        assert isinstance(notices, str)
        with pytest.raises(ValueError, match=notices):
            read_arguments(SCHEMAS[tool], given)
        return
    found = read_arguments(SCHEMAS[tool], given)
    asked = {"question": "Where?"} if tool == "find_code" and "pattern" not in values else {}
    assert found == Arguments(**({"budget": 2000} | asked | values), notices=found.notices)
    assert all(notice in one for one, notice in zip(found.notices, notices, strict=True))

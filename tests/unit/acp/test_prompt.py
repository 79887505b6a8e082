"""Which question a prompt's content blocks ask."""

import re
from pathlib import Path
from typing import Any

import pytest

from winnow_engine.config import FileRules
from winnow_engine.question import Cursor
from winnow_lsp.acp.messages import RequestError, question_of


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def link(uri: str) -> dict[str, Any]:
    return {"type": "resource_link", "uri": uri, "name": "whatever"}


def embedded(uri: str, content: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "text": content}}


@pytest.mark.parametrize(
    ("fragment", "words", "cursor"),
    [
        ("#L10", "`src/a b.py:10`", Cursor("src/a b.py", 10, 10)),
        ("#L10-20", "`src/a b.py:10-20`", Cursor("src/a b.py", 10, 20)),
        ("#L10-L20", "`src/a b.py:10-20`", Cursor("src/a b.py", 10, 20)),
        ("#L10:20", "`src/a b.py:10-20`", Cursor("src/a b.py", 10, 20)),
        ("?symbol=f#L3:4", "`src/a b.py:3-4`", Cursor("src/a b.py", 3, 4)),
        ("", "`src/a b.py`", None),
        ("#L0", "`src/a b.py`", None),
        ("#L9-3", "`src/a b.py`", None),
        ("#section", "`src/a b.py`", None),
        ("#L" + "9" * 5000, "`src/a b.py`", None),
    ],
)
def test_lines_of_a_file_in_the_folder_are_the_cursor(
    tmp_path: Path, fragment: str, words: str, cursor: Cursor | None
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a b.py").write_text("x = 1\n")
    uri = (tmp_path / "src" / "a b.py").as_uri() + fragment
    for block in (link(uri), embedded(uri, "x = 1\n")):
        asked = question_of([text("What does"), block, text("?")], tmp_path, ())
        assert (asked.text, asked.cursor) == (f"What does {words}?", cursor)


def test_a_file_outside_the_folder_is_no_cursor_and_its_embedded_text_is_part_of_the_question(tmp_path: Path) -> None:
    uri = (tmp_path.parent / "other.py").as_uri() + "#L1"
    asked = question_of([text("Why?"), link(uri), embedded("zed:///rules/1", "Be brief.")], tmp_path, ())
    assert asked.cursor is None
    assert asked.text == f"Why? `{uri}`\n\n`zed:///rules/1`:\n```\nBe brief.\n```"


def test_the_embedded_text_of_a_file_that_is_not_read_is_part_of_the_question(tmp_path: Path) -> None:
    for path in (".gitignore", "out.log", "notes.md", "a.py"):
        (tmp_path / path).write_text("*.log\n")
    rules = FileRules(exclude=("notes.md",))
    for path, fragment in (("out.log", ""), ("notes.md", ":1-2"), ("unsaved.py", "")):
        block = embedded((tmp_path / path).as_uri() + fragment.replace(":", "#L"), "```\nfailed\n```")
        asked = question_of([text("Why?"), block], tmp_path, (), rules)
        assert asked.text == f"Why?\n\n`{path}{fragment}`:\n````\n```\nfailed\n```\n````"
        assert asked.cursor is None
    read = embedded((tmp_path / "a.py").as_uri(), "failed")
    assert question_of([text("Why?"), read], tmp_path, (), rules).text == "Why? `a.py`"


def test_long_embedded_texts_share_a_limit_and_are_cut_at_lines(tmp_path: Path) -> None:
    log = "\n".join(f"{number:04} worker failed" for number in range(2000))
    blocks = [embedded((tmp_path / name).as_uri(), log) for name in ("a.log", "b.log", "c.log")]
    asked = question_of([text("Why?"), *blocks], tmp_path, ())
    texts = re.findall(r"```\n(.*?)⋯ ([\d,]+) characters left out\n(.*?)\n```", asked.text, re.DOTALL)
    assert (len(asked.text) < 4200, len(texts)) == (True, 3)
    for head, left_out, tail in texts:
        assert len(head) + int(left_out.replace(",", "")) + len(tail) == len(log)
        assert (log.startswith(head), head[-1], log.endswith(f"\n{tail}")) == (True, "\n", True)
    one_line = question_of([embedded("zed:///thread", f"<{'x' * 50_000}>")], tmp_path, ()).text
    assert re.search(r"```\n<x{1999}\n⋯ 46,0\d\d characters left out\nx{1999}>\n```", one_line)


@pytest.mark.parametrize("path", [".env", "build/.env", "unsaved/.docker/config.json", "key.txt", "../.env"])
def test_the_text_of_a_secret_is_not_part_of_the_question(tmp_path: Path, path: str) -> None:
    folder, file = tmp_path / "w", tmp_path / "w" / path
    for place, content in {".gitignore": "build\n", ".env": "A=1", "build/.env": "A=1", "key.txt": ""}.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(content)
    content = "-----BEGIN PRIVATE KEY-----\n" if path == "key.txt" else "PASSWORD=hush\n"
    block = embedded(file.resolve().as_uri(), content)
    asked = question_of([text("Why?"), block], folder, (), FileRules(exclude=(".env",)))
    assert asked.text == f"Why? `{file.resolve().as_uri() if path.startswith('..') else path}`"


def test_a_file_is_found_through_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.py").write_text("x = 1\n")
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    for folder, root in (("real", "linked"), ("linked", "real")):
        uri = (tmp_path / folder / "a.py").as_uri() + "#L1"
        assert question_of([text("Why?"), link(uri)], tmp_path / root, ()).cursor == Cursor("a.py", 1, 1)


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        (None, "a list of content blocks"),
        ([], "the prompt is empty"),
        ([text(" \n")], "the prompt is empty"),
        ([{"type": "image", "data": "", "mimeType": "image/png"}], "reads no image"),
        ([{"type": "text"}], "'text'"),
        ([{"type": "resource", "resource": {"uri": 3}}], "'resource'"),
        (["why"], "no content: str"),
    ],
)
def test_what_is_no_question_is_refused(tmp_path: Path, blocks: object, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        question_of(blocks, tmp_path, ())

"""Files in other encodings than UTF-8, and notebooks, become the same lines as UTF-8."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from winnow_engine.index.file_text import as_utf8
from winnow_engine.index.files import explain, look
from winnow_engine.index.stat_cache import StatCache
from winnow_engine.index.symbols import analyse
from winnow_engine.platform import read_regular
from winnow_research.evaluation.repositories import scan

RUSSIAN, CHINESE, JAPANESE = "Проверка срока действия скидки", "检查折扣是否过期", "割引の期限を確認する"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        *(
            (encoding, RUSSIAN)
            for encoding in ("cp1251", "koi8-r", "cp866", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32")
        ),
        *((encoding, JAPANESE) for encoding in ("cp932", "euc-jp", "iso2022_jp", "utf-16-be")),
        *(("gb18030", CHINESE), ("gbk", "加载配置文件"), ("big5", "檢查折扣是否過期"), ("cp949", "할인 만료 확인")),
        *(("cp1252", text) for text in ("naïve café", "Prüfsumme der Übertragung – “ok”", "© 2012 José", "£5")),
        *(("cp1250", "Sprawdź, czy zniżka wygasła"), ("cp1253", "Έλεγχος ημερομηνίας"), ("cp1255", "בדיקת תוקף ההנחה")),
        *(("koi8-r", "-*- coding: koi8-r -*- ц"), ("iso8859-2", "encoding='iso-8859-2' wygasła")),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_text_is_read_in_its_encoding(encoding: str, text: str, end: str) -> None:
    text = f"# {text}{end}def check(day):{end}    return day < 30{end}"
    assert as_utf8(text.encode(encoding))[0].decode() == text


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (f"# {RUSSIAN}\n".encode() + b"# Pr\xfcfung\n", f"# {RUSSIAN}\n# Prüfung\n"),
        (
            f"# {RUSSIAN}\n# ".encode() + b"\xff" + "Größe und Übertragung\n".encode(),
            f"# {RUSSIAN}\n# \ufffdGröße und Übertragung\n",
        ),
        (b"# coding: unicode_escape\n# caf\xe9 \\n\n", "# coding: unicode_escape\n# café \\n\n"),
        (b"# coding: cp037\n# caf\xe9\n", "# coding: cp037\n# café\n"),
        (f"# coding: shift_jis_2004\n# {JAPANESE} \\n".encode("cp932"), f"# coding: shift_jis_2004\n# {JAPANESE} \\n"),
        (b"# coding: johab\n# caf\xe9\n", "# coding: johab\n# café\n"),
    ],
)
def test_each_line_is_read_in_the_encoding_that_it_is_in(data: bytes, expected: str) -> None:
    assert as_utf8(data)[0].decode() == expected


@pytest.mark.parametrize("encoding", ["cp1251", "utf-8-sig"])
def test_a_file_in_another_encoding_is_read_again_as_it_was(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "old.py").write_text(f"# {RUSSIAN}\n", encoding)
    now = [0.0]
    stats = StatCache(lambda: now[0])
    for now[0] in (0.0, 9.0, 18.0):
        with stats.reading():
            ((_, content),) = look(tmp_path, stats=stats)
        assert (content.read().decode(), content.made_of) == (f"# {RUSSIAN}\n", encoding)
    assert content.held is None, "it is read from the disk"
    restored = StatCache(lambda: now[0])
    restored.load(stats.columns())
    with restored.reading():
        assert [content for _, content in look(tmp_path, stats=restored)] == [content]
    assert explain(tmp_path, Path("old.py")).reason == f"no rule leaves it out; read as {encoding}"


@pytest.mark.parametrize(("added", "expected"), [("", RUSSIAN), ("x = 1\n", "\ufffd" * 3)])
def test_a_document_that_the_editor_misread_is_as_on_disk_and_is_known_for_it(
    tmp_path: Path, added: str, expected: str
) -> None:
    (tmp_path / "old.py").write_bytes(f"# {RUSSIAN}\n".encode("cp1251"))
    opened = read_regular(tmp_path / "old.py", 1000).decode("utf-8", "replace") + added
    ((_, content),) = look(tmp_path, open_documents={"old.py": opened.encode()})
    assert expected in content.read().decode()
    assert content.made_of == "cp1251"


CELLS: list[Any] = [
    {
        "cell_type": "markdown",
        "metadata": {},
        "source": ["# Means\n", "![a](data:image/png;base64," + "A" * 9000 + ")"],
    },
    {
        "cell_type": "code",
        "metadata": {"source": []},
        "outputs": [{"data": {"image/png": "A" * 9000}}, {"text": ["import os\n"], "source": ["x = 1"]}],
        "source": ["%matplotlib inline\n", "def mean(values):\n", "    return sum(values) / len(values)"],
    },
    {"cell_type": "code", "outputs": [], "source": []},
    {"cell_type": "code", "outputs": [], "source": ["mean([1, 2])\n"]},
]


@pytest.mark.parametrize("source", [list, "".join])
@pytest.mark.parametrize("indent", [1, None])
def test_a_notebook_is_its_code(tmp_path: Path, indent: int | None, source: Any) -> None:
    cells = [cell | {"source": source(cell["source"])} for cell in CELLS]
    raw = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}, indent=indent).encode()
    (tmp_path / "a.ipynb").write_bytes(raw)
    ((path, text),) = [(file.path, file.data) for file in scan(tmp_path)]
    code = [line for line in text.decode().split("\n") if line]
    expected = ["# # Means", "# ![a](…)", "# %matplotlib inline", *CELLS[1]["source"][1:], "mean([1, 2])"]
    assert code == [line.rstrip("\n") for line in expected]
    assert [unit.name for unit in analyse(path, text).units if unit.name] == ["mean"]
    if indent and source is list:
        numbers = [text.split(b"\n").index(line.encode()) for line in code[3:]]
        assert [code[3 + place] in raw.split(b"\n")[line].decode() for place, line in enumerate(numbers)] == [True] * 3

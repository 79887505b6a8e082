"""The text of a file that Winnow reads: UTF-8, whatever its encoding, and of a notebook its code, line for line."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from typing import Any

from winnow_engine.errors import NotJsonError
from winnow_engine.untrusted import read_json

SUFFIX = ".ipynb"
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_MAGIC = re.compile(r"\s*(?:%%?\w|!|\?)")
_PICTURE = re.compile(r"data:[\w/+.-]+;base64,[\w/+=-]+")
_SOURCE = re.compile(r'\s*"source": \[\s*')


def notebook_code(data: bytes) -> bytes | None:
    """The cells of a notebook, text and magics as comments, on the file's own lines if Jupyter wrote it; else None."""
    try:
        cells = [(cell["cell_type"], _LINE.findall("".join(cell["source"]))) for cell in _cells(read_json(data))]
    except (KeyError, TypeError, NotJsonError):
        return None
    lines = data.decode("utf-8", "replace").split("\n")
    placed = _placed(lines, [source for _, source in cells])
    if placed is None:
        shown = [line for kind, source in cells for line in (*_shown(kind, source), "")]
    else:
        shown = [""] * len(lines)
        for start, (kind, source) in zip(placed, cells, strict=True):
            shown[start : start + len(source)] = _shown(kind, source)
    return "\n".join(shown).encode("utf-8", "replace")


def _cells(document: Any) -> Iterator[Any]:
    """The cells of a notebook of version 4, or of the worksheets of an older one. KeyError, TypeError for others."""
    if "worksheets" not in document:
        yield from document["cells"]
        return
    for cell in (cell for sheet in document["worksheets"] for cell in sheet["cells"]):
        yield {"source": cell.get("source", cell.get("input", "")), "cell_type": cell["cell_type"]}


def _shown(kind: str, source: Sequence[str]) -> list[str]:
    lines = [_PICTURE.sub("…", line.rstrip("\r\n")) for line in source]
    return [f"# {line}".rstrip() if kind != "code" or _MAGIC.match(line) else line for line in lines]


def _placed(lines: Sequence[str], sources: Sequence[Sequence[str]]) -> list[int] | None:
    """The place of each source's first line among a file's lines; None if they are not there one by one."""
    found, at = [], 0
    for source in sources:
        while source and not _stands_at(lines, at, source):
            at += 1
            if at == len(lines):
                return None
        found.append(at + bool(source))
        at += len(source)
    return found


def _stands_at(lines: Sequence[str], at: int, source: Sequence[str]) -> bool:
    if not _SOURCE.fullmatch(lines[at]) or at + len(source) >= len(lines):
        return False
    return all(_is_string(line, text) for line, text in zip(lines[at + 1 : at + 1 + len(source)], source, strict=True))


def _is_string(line: str, text: str) -> bool:
    try:
        return bool(read_json(line.strip().removesuffix(",")) == text)
    except NotJsonError:
        return False


_BOMS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
MARKED = "utf-8-sig"
_OF_TWO_BYTES = ("cp932", "euc_jis_2004", "gb18030", "big5hkscs", "cp949")
_LEGACY = (*_OF_TWO_BYTES, *(f"cp{number}" for number in range(1250, 1259)), "cp866", "cp874", "koi8-r", "koi8-u")
_DECLARED = re.compile(
    rb"(?:coding|charset)\s{0,3}[:=]\s{0,3}[\"']?"
    rb"((?:iso|latin|windows|cp|koi8|mac|gb|big5|euc|shift|sjis|ks_c|johab|tis)[\w.-]{0,20})",
    re.IGNORECASE,
)
_ASCII = bytes([10, *range(32, 127)])  # means the same in an encoding for code
_HEAD_LINES = 5
_SAMPLE_BYTES = 4096  # chardet reads 0.5 MB/s
_LEAST_CONFIDENCE = 0.05  # below it one or two accented letters look like any encoding
_SHIFT = re.compile(rb"\x1b\$[@B]")  # ISO-2022-JP, which has no byte that ASCII lacks
_CONTROLS = re.compile("[\0-\7\x0b\x0e-\x1a\x1c-\x1f\ufffe\uffff]")
_LEAST_ASCII = 0.25  # of UTF-16 without a byte order mark


def as_utf8(data: bytes) -> tuple[bytes, str]:
    """The same lines as UTF-8 without a byte order mark, and what they were in; "" for just that and for no text."""
    marked, data = data.startswith(codecs.BOM_UTF8), data.removeprefix(codecs.BOM_UTF8)
    if (mark := next((name for bom, name in _BOMS.items() if data.startswith(bom)), None)) or b"\0" in data:
        return _wide(data, [mark] if mark else ["utf-16-le", "utf-16-be"])
    if _SHIFT.search(data) and (text := _strictly(data, "iso2022_jp_ext")) is not None:
        return text.encode(), "iso2022_jp"
    if is_utf8(data) or (name := _declared(data) or _detected(data)) is None:
        return data, MARKED if marked else ""
    return _decoded(data, name).encode(), "damaged UTF-8" if name == "utf-8" else name


def is_utf8(data: bytes) -> bool:
    """True for valid UTF-8."""
    return _strictly(data, "utf-8") is not None


def _wide(data: bytes, names: list[str]) -> tuple[bytes, str]:
    """As `as_utf8`, of bytes that may be UTF-16 or UTF-32."""
    for name in names:
        text = _strictly(data, name)
        ascii_ = text is not None and (len(names) == 1 or sum(map(str.isascii, text)) >= _LEAST_ASCII * len(text))
        if text is not None and ascii_ and _CONTROLS.search(text) is None:
            return text.encode(), name
    return data, ""


def _strictly(data: bytes, name: str) -> str | None:
    try:
        return data.decode(name)
    except ValueError:
        return None


def _declared(data: bytes) -> str | None:
    """The encoding that a file says it is in, as in PEP 263, XML and HTML, if its bytes can be so."""
    head = b"\n".join(data.split(b"\n", _HEAD_LINES)[:_HEAD_LINES])
    for name in dict.fromkeys(map(bytes.lower, _DECLARED.findall(head))):
        try:
            found = codecs.lookup(name.decode()).name
        except LookupError:
            continue
        if _strictly(_ASCII, found) == _ASCII.decode() and _strictly(data, found) is not None:
            return found
    return None


def _detected(data: bytes) -> str | None:
    """The encoding that the lines which are no UTF-8 are most likely in; None for bytes that are no text."""
    sample = b"\n".join(line for line in data.split(b"\n") if _as_utf8_line(line) is None)[:_SAMPLE_BYTES]
    if not sample:
        return "utf-8"  # with damage here and there
    import chardet  # every command imports this module

    found = chardet.detect(sample, include_encodings=_LEGACY, compat_names=False)
    if found["encoding"] is None or found["confidence"] < _LEAST_CONFIDENCE:
        return "cp1252" if found["mime_type"] == "text/plain" else None
    return found["encoding"]


def _decoded(data: bytes, name: str) -> str:
    """The text of a file; lines that are UTF-8 are read as such, whatever the others are in."""
    if name in _OF_TWO_BYTES and (text := _strictly(data, name)) is not None:
        return text
    return "\n".join(_as_utf8_line(line) or line.decode(name, "replace") for line in data.split(b"\n"))


def _as_utf8_line(line: bytes) -> str | None:
    """A line's text if it is UTF-8, but for a few bytes; None if it is in another encoding."""
    text = line.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    return text if not bad or sum(not one.isascii() for one in text) > 2 * bad else None


NOTEBOOK = "notebook"


def is_notebook(path: str) -> bool:
    """True for a notebook by its name."""
    return path.lower().endswith(SUFFIX)


def file_text(path: str, data: bytes) -> tuple[bytes, str]:
    """The text of a file, and what it was made of: an encoding, NOTEBOOK, or "" if it is the file's bytes."""
    text, encoding = as_utf8(data)
    code = notebook_code(text) if is_notebook(path) else None
    return (text, encoding) if code is None else (code, NOTEBOOK)

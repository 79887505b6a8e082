"""Places in a text: `path:2`, `path:L1-L2`, `path#L2`, path, line 2 and their like, for paths of a workspace.

A path may contain spaces, brackets and parentheses. So the lines are found first, and then the longest text before them
that is a file's path, or the end of just one file's; else the name of a module, or of what it defines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import unquote

from winnow_engine.core import Citation
from winnow_engine.index.bm25 import stems
from winnow_engine.index.lines import text_lines
from winnow_engine.index.name_rules import module_of, reason_against_path
from winnow_engine.index.words import UNSPACED
from winnow_engine.index.workspace import Workspace
from winnow_engine.prompting.hunks import with_places_of_hunks
from winnow_engine.question import Question

_JOINERS = {  # words between the first line and the last, by the word before them
    r"lines?\s|line(?:no)?\"?[:=,]\s?\"?|(?-i:L)(?=\d)": "to|through|and",
    r"zeilen?\s": "bis|und",
    r"l[íi]neas?\s": "al?|y",
    r"lignes?\s": "à|et",
    r"строк\w{0,3}\s": "по|и",
}
_LINE_WORD = "|".join(f"(?P<word{number}>{word})" for number, word in enumerate(_JOINERS))
_JOINER = "|".join(rf"(?(word{number})\s(?:{to})\s|(?!))" for number, to in enumerate(_JOINERS.values()))
_DASH = r"\s?[-–—到至]\s?|[~〜～]"
_LINES = re.compile(
    rf"(?:[:：]L?|#(?:L|lines-)|(?<=\S)\((?=\d+(?:,\s?\d+)?\))|:(?:\[|\s\()(?=\d+,\s?\d+[)\]])"
    r"|(?:(?<=\.[a-z]{2}\s)|(?<=\.[a-z]{3}\s))(?:(?=\d+:\d+-\d)|\((?=\d+:\d+\)))"  # webpack's, Next.js's
    r"|(?<=\.dart\s)(?=\d+:\d)"
    rf"|(?:[:：]\s?|\b)(?P<word>(?i:{_LINE_WORD}|行[号號]?\s))|第\s?(?=\d+(?:(?:{_DASH})\d+)?\s?行)"
    rf"|(?<!\d)(?=\d+(?:(?:{_DASH})\d+)?\s?行目))"
    r"(?P<start>\d{1,7})(?:[:C]\d{1,5}\b(?:-\d{1,5}\b(?![:C]\d))?|,\s?\d{1,5}(?=[)\]]))?"
    rf"(?:(?:{_DASH}|\.\.|{_JOINER})L?(?P<end>\d{{1,7}})(?:[:C]\d{{1,5}}\b)?)?"
    rf"(?:\s?行目?)?(?![^\W{UNSPACED}]|[.:]\d)"
)
_BETWEEN = re.compile(r"[\s,;:–—(`*_\"'“”’»>)\]\\{}]*$")
_NEAR = re.compile(  # between a path and its line
    r"(?<=[\s(])(?:(?:at|on|in|near|around|about|from|between|der|den|bei|um|ab|von|etwa|zwischen|en|las?|cerca|de|desde"
    r"|alrededor|entre|à|les|vers|autour|в|на|с|около|между)\s+){1,3}$|\s*(?:文件|ファイル)?\s?[の的中在]{0,2}\s?$"
)
_BEHIND = re.compile(
    r"\s(?:of|in|von|aus|der|del?|en|du|dans|в|из|файла)\s(?:(?:the|der|el|le)\s)?(?:(?:file|Datei|archivo|fichier|файл[ае])\s)?"
    r"(?:`(?P<quoted>[^`\n]+)`|[*\"'(]*(?P<plain>[^\s`*\"'<>,]+))"
)
# A path begins at its first character, not inside a longer one.
_START = re.compile(rf"(?:(?<![\w./\\@%+~$-])|(?<=\s[@_])|(?<=\s__)|(?<=/)|(?<=[{UNSPACED}])(?=[!-~]))(?=\S)")
_QUERY = re.compile(r"\?[\w=&]{,40}$")  # of a page that shows a file
_HERE = r"(?:localhost\b|127\.|0\.0\.0\.0|\[::1\])"  # a development server's
_PAGE = re.compile(rf"https?://(?!{_HERE})")
# A development server, a Dart package, a page on a forge, or the root: what follows may be a path of the workspace.
_ROOT = re.compile(
    rf"https?://{_HERE}[^\s/]*/|package:\w+/|https?://\S+?/(?:blob|blame|raw|edit|tree|src)/(?=\S)"
    rf"|(?<![^\s\"'`(<{UNSPACED}])(?:file://(?=/))?(?:~|/?[A-Za-z]:)?/(?=[^\s/])"
)
# `package.module.Class.method`, also before `(File.java`; `folder/module`.
_MODULE = re.compile(r"(?<![\w./:$-])(?:((?:[\w-]+/)+[\w-]+)|(\w+(?:(?:\.|::|\$)[\w<>]+)+)(?:\([\w.]+)?)$")
_PACKAGE = re.compile(r"(?<=\bpackage:)\w+/(?!lib/)")  # Dart's, whose code is in lib
_LOOKS = re.compile(r"(?:^|[\s:`'\"(\[<*])[^\s:`'\"<>*|]*(?:[\w)\]-]\.[A-Za-z]\w*|[/\\]\w[^\s:`'\"<>*|]*)$")
_MOST_BEFORE = 300  # characters of a path, and of what stands beside it
_MOST_ENDS = 8  # of a path, tried before its lines
# A path above its lines: ESLint's, or ripgrep's with lines around them, but for times.
_BELOW = re.compile(r"^(\S.{,200})((?:\n[ \t]+\d+:\d+[ \t].*)+)|^(\S{1,200})((?:\n(?:\d+[:-].*|--$))+)", re.MULTILINE)
_EACH_BELOW = re.compile(r"\n(?:[ \t]+|(?=\d+:(?!\d\d(?::\d\d\b|\s))))")
_MOST_ASKED = 20_000  # characters at each end of a question that are read: 1 MB of JSON takes seconds
_NAME_END = 4  # characters that tell most texts from paths


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """Lines that a text names up to `end`; `lines` is None if there are none such in the workspace."""

    end: int
    lines: Citation | None


class PlaceReader:
    """Finds the places in texts about a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def places(self, text: str) -> Iterator[NamedPlace]:
        """The places in order: those that exist, and those that look like one."""
        last = 0  # end of the place before
        for match in _LINES.finditer(text):
            line = max(text.rfind("\n", last, match.start()) + 1, last, match.start() - _MOST_BEFORE)
            before, end = _QUERY.sub("", _NEAR.sub("", text[line : match.start()])), match.end()
            apart = len(_BETWEEN.sub("", before, count=1))
            path = self._path(before, apart)
            if path is None and match["word"] and (behind := _BEHIND.match(text, end)):
                path, end = self._ending(behind["quoted"] or behind["plain"].rstrip(".;:!?)]")), behind.end()
            if path is not None:
                last = end
                yield NamedPlace(end, self._lines(path, match))
            elif _LOOKS.search(before[:apart]):
                yield NamedPlace(match.end(), None)

    def code_of(self, name: str) -> tuple[str, list[str]]:
        """The path and the lines of the file that a repository's path means; none if there is no such file."""
        if (path := self._ending(f"/{name}")) is None:  # the workspace may be a folder of the repository
            return name, []
        return path, text_lines(self._workspace.file(path).content.read().decode("utf-8", "replace"))

    def _lines(self, path: str, match: re.Match[str]) -> Citation | None:
        start, end = int(match["start"]), int(match["end"] or match["start"])
        return Citation(path, start, end) if 1 <= start <= end <= self._workspace.file(path).line_count else None

    def _path(self, before: str, first: int) -> str | None:
        """The file whose path ends `before`, at its end or as early as character `first`."""
        ends = [end for end in range(len(before), first - 1, -1) if before[end - 1 : end].strip()]
        return next((found for end in ends[:_MOST_ENDS] if (found := self._ending(before[:end]))), None)

    def _ending(self, text: str) -> str | None:
        """The file that the longest end of a text names.

        An end that begins inside a path counts only if it stands behind a root, or has three parts and the path is not
        that of a dependency or a page.
        """
        text = _PACKAGE.sub(r"\g<0>lib/", re.sub(r"\\+", "/", unquote(text)))
        if not text.endswith(self._name_ends):
            return self._of_module(text)
        root, path = _ROOT.search(text), text.rsplit(maxsplit=1)[-1].lstrip("([<\"'`")
        foreign = _PAGE.match(path) or reason_against_path(path)
        for match in _START.finditer(text):
            name, inside = text[match.start() :], text[match.start() - 1 : match.start()] == "/"
            may_be = not inside or (root and root.end() <= match.start()) or (not foreign and name.count("/") > 1)
            found = self._named(name.removeprefix("./").removeprefix("/")) if may_be else None
            if found and (not inside or name in (found, self._workspace.file(found).local_path)):
                return found
        return self._of_module(text)

    def _of_module(self, text: str) -> str | None:
        """The only file of the module that ends a text, or of one with the class or function that does."""
        folder, dotted = match.groups("") if (match := _MODULE.search(text)) else ("", "")
        parts = re.split(r"\.|::|\$", dotted.replace("crate::", "src::"))
        names = [folder] if folder else ["/".join(parts[:end]) for end in range(len(parts), 1, -1)]
        names += [name.replace("/", "/src/", 1) for name in names if "::" in dotted]  # a crate's
        return next((files[0] for name in names for files in self._in_module(name) if len(files) == 1), None)

    def _in_module(self, name: str) -> tuple[list[str], list[str]]:
        """Files of the module with this name, and of all that end in it. Their paths have all words of the name."""
        suffix, words = module_of(name), set(stems(name))
        near = self._workspace.file_table.by_module.get(suffix.rpartition("/")[2], ()) if words else ()
        found = [one for one in near if one[0].endswith(suffix) and words <= set(stems(one[1]))]
        return [path for module, path in found if module == suffix], [path for _, path in found]

    def _named(self, name: str) -> str | None:
        """The file with this path, or the only one whose path ends in it."""
        table = self._workspace.file_table
        own = [table.paths[number] for number in table.by_name.get(name.rpartition("/")[2], ())]
        ending = [path for path in own if path == name or path.endswith(f"/{name}")]
        return name if name in ending else ending[0] if len(ending) == 1 else None

    @cached_property
    def _name_ends(self) -> tuple[str, ...]:
        return tuple({name[-_NAME_END:] for name in self._workspace.file_table.by_name})


def with_places(question: Question, workspace: Workspace) -> Question:
    """The question with the lines that it names, as a stack trace does."""
    named, reader = dict[int, list[int]](), PlaceReader(workspace)
    text = with_places_of_hunks(question.text, reader.code_of)
    if len(text) > 2 * _MOST_ASKED:
        cut = _MOST_ASKED if not text[_MOST_ASKED].isdecimal() else len(text[:_MOST_ASKED].rstrip("0123456789"))
        text = f"{text[:cut]}\n{text[-_MOST_ASKED:]}"  # a number may go on
    text = _BELOW.sub(lambda block: _EACH_BELOW.sub(lambda _: f"\n{block[1] or block[3]}:", block[2] or block[4]), text)
    for one in filter(None, (place.lines for place in reader.places(text))):
        for number in workspace.units_at(one):
            unit = workspace.units[number][1]
            ends = max(one.start_line, unit.start_line), min(one.end_line, unit.end_line)
            named.setdefault(number, []).extend(ends)
    return replace(question, places=named)

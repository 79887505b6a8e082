"""Names in code form that an answer writes: `a_b`, `aB`, `A.b`, `f()`, or marked by backticks."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from winnow_engine.errors import FileChangedError
from winnow_engine.index.names import identifiers
from winnow_engine.index.words import UNSPACED
from winnow_engine.index.workspace import Workspace

_NAME = r"[^\W\d]\w*(?:(?:\.|::|#|->)[^\W\d]\w*)*"
_MARKED = re.compile(rf"`(?P<marked>{_NAME})(?P<call>\([^`]*\))?`")
_CODE = re.compile(r"`[^`\n]+`")
_CHAR = rf"[^\W{UNSPACED}]"  # of a bare name, which ends beside Chinese and the like, as in `调用parse_header时`
_BARE = re.compile(
    rf"(?<!{_CHAR})(?<![./\\@$-])(?P<name>(?!\d){_CHAR}+(?:(?:\.|::|#|->)(?!\d){_CHAR}+)*)"
    rf"(?P<call>\((?!e?s\))[^()\n]{{0,200}}\))?(?!{_CHAR}|[/\\-]|\.{_CHAR})"
)
_HUMPS = re.compile(r"[a-z\d][A-Z]|[A-Z]{2}(?!s\b)[a-z]|[^\W_]_[^\W_]|^_+[^\W_]")
_PART = re.compile(r"\.|::|#|->")
_SHORTEST = 3  # characters of a name that tells anything
_MOST_SEARCHED = 64  # units that have all words of a name
_OTHER_LANGUAGES = (
    "abstract any array async auto bigint bool boolean byte case catch char chan class const constructor defer delete "
    "double dynamic else enum error export extends extern false final float fn func function goto impl implements "
    "import inline instanceof int integer interface let long loop macro map match mod module mut namespace new nil "
    "null nullptr number object operator override package panic private protected pub public readonly register "
    "require return self short signed sizeof static string struct super switch synchronized template this throw "
    "throws trait transient true type typedef typename typeof undefined union unsafe unsigned use using var virtual "
    "void volatile where while yield console promise regexp json math date symbol option result vec box some none ok "
    "err uint8 int32 int64 uint32 uint64 float64 rune size_t usize isize javascript typescript github gitlab graphql "
    "postgresql mysql sqlite mongodb nodejs iphone macos openai vscode youtube webassembly stackoverflow "
    "websocket websockets oauth oauth2 ipv4 ipv6 utf_8 x86_64 ios wifi kib mib gib snake_case camelcase pascalcase"
)
_KNOWN_ANYWHERE = frozenset(
    name.lower() for name in [*dir(builtins), *keyword.kwlist, *keyword.softkwlist, *_OTHER_LANGUAGES.split()]
)


@dataclass(frozen=True, slots=True)
class CodeName:
    """A name with its place in the text. `certain` unless it is one plain word, which may be an argument or prose."""

    text: str
    start: int
    certain: bool

    @property
    def end(self) -> int:
        """The character behind it."""
        return self.start + len(self.text)

    @property
    def parts(self) -> list[str]:
        """`A.b` → A, b."""
        return [part for part in _PART.split(self.text) if part]


def code_names(text: str) -> Iterator[CodeName]:
    """The names in code form in a text, in order; calls within backticks give the name of what is called."""
    for match in _MARKED.finditer(text):
        name = match["marked"]
        yield CodeName(name, match.start("marked"), bool(match["call"] or _PART.search(name) or _HUMPS.search(name)))
    for match in _BARE.finditer(_CODE.sub(lambda found: " " * len(found[0]), text)):
        name = match["name"]
        if match["call"] or "::" in name or any(map(_HUMPS.search, _PART.split(name))):
            yield CodeName(name, match.start("name"), True)


def of_any_language(name: str) -> bool:
    """True for builtins, keywords and the like, and for names that are too short to tell anything."""
    return len(name) < _SHORTEST or name.lower() in _KNOWN_ANYWHERE


@dataclass
class KnownNames:
    """The names that a workspace has, or what was `asked`, or some language."""

    workspace: Workspace
    asked: str
    _found: dict[str, bool] = field(default_factory=dict)

    def unknown(self, names: Iterable[CodeName]) -> Iterator[CodeName]:
        """Those of some names that exist nowhere."""
        files = self.workspace.file_table.by_name
        return (name for name in names if name.text not in files and not all(map(self._knows, name.parts)))

    def _knows(self, name: str) -> bool:
        if of_any_language(name):
            return True
        if name not in self._found:
            asked = name.lower() in self._asked
            self._found[name] = asked or self.workspace.symbols.has(name) or self._occurs(name)
        return self._found[name]

    @cached_property
    def _asked(self) -> set[str]:
        return {name.lower() for name in identifiers(self.workspace.symbols.spaced(self.asked))}

    def _occurs(self, name: str) -> bool:
        """True if a name stands in some text: in a string, a comment, or a file of no known language."""
        units = self.workspace.lexical.having_all(name)[:_MOST_SEARCHED].tolist()
        try:
            return any(name in file.text_of(unit) for file, unit in map(self.workspace.units.__getitem__, units))
        except FileChangedError:
            return True  # nobody knows

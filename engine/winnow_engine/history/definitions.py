"""The names of the units that commits changed, from the patches that git prints.

A hunk's header names the unit around it. A changed line that begins a definition names another, which was added or
removed if the commit does not do both. No file is read for that, so names are as git and a rule for all languages have
them: `total`, not `Basket.total`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_KEYWORDS = (
    "class def defmodule enum extension fn fun func function impl interface macro macro_rules! mod module namespace "
    "object protocol record struct trait type union #define"
)
_MODIFIERS = (
    "abstract async const constexpr data declare default export extern final fileprivate inline internal local open "
    "override partial private protected pub public sealed static suspend synchronized unsafe virtual"
)
_KEYWORD, _MODIFIER = "|".join(map(re.escape, _KEYWORDS.split())), "|".join(_MODIFIERS.split())
_WORD = r"(?:[^\W\d]|[$~])[\w$]*"
_DEFINITION = "|".join(
    [
        # a keyword and a name
        rf"[ \t]*(?:(?:{_MODIFIER})(?:\([a-z]+\))?[ \t]+)*(?:{_KEYWORD})"
        rf"(?:[ \t]*\*|<[^>\n]*>|[ \t]*\([^()\n]*\))?[ \t]+(?P<named>{_WORD})",
        # modifiers, a type or none, and a name with arguments
        rf"[ \t]*(?:(?:{_MODIFIER})[ \t]+)+(?:[\w<>\[\],.?:*&]+[ \t]+)*[*&]?(?P<method>{_WORD})[ \t]*\(",
        # at the beginning of a line, a type and a name with arguments
        r"(?!(?:assert|await|case|else|from|import|new|raise|return|throw|yield)\b)[A-Za-z_][\w:<>,]*[*&]*[ \t]+"
        rf"(?:[\w:<>,*&]+[ \t]+)*[*&]*(?:\w+::)*(?P<function>{_WORD})\([^;\n]*$",
        # there, a name that gets a value
        rf"(?:(?:export|const|let|var|static|pub|readonly|final)[ \t]+)*(?P<value>{_WORD})"
        r"[ \t]*(?::[^=\n]{1,80})?=(?!=)",
    ]
)
_COMMIT = "[0-9a-f]{40}(?:[0-9a-f]{24})?"
_ROW = re.compile(
    rf"^(?:(?P<commit>{_COMMIT})$|@@ [-+\d, ]+ @@(?P<header>.*)$|(?P<sign>[-+])(?:{_DEFINITION}))", re.MULTILINE
)
_HEADER = re.compile(_DEFINITION)
_CALLED = re.compile(rf"({_WORD})[ \t]*\(|({_WORD})[^\w$]*$")
_BEFORE_DEFINITION = re.compile(r"(?:[-+][ \t]*(?:[@#/*\[].*)?\n)*")
_MOST = 2000  # names of a commit


@dataclass
class ChangedNames:
    """The names that a commit changed, and among them those that it added or removed, in the order found."""

    touched: dict[str, None] = field(default_factory=dict)
    _gained: dict[str, None] = field(default_factory=dict)
    _lost: dict[str, None] = field(default_factory=dict)

    @property
    def added(self) -> list[str]:
        """Names that are defined after the commit, and were not before it."""
        return [name for name in self._gained if name not in self._lost]

    @property
    def removed(self) -> list[str]:
        """Names that were defined before the commit, and are not after it."""
        return [name for name in self._lost if name not in self._gained]

    def add(self, name: str, sign: str) -> None:
        """Take note of a name; `sign` is + or - where its definition is in a changed line."""
        if len(self.touched) < _MOST:
            self.touched[name] = None
            if sign:
                (self._gained if sign == "+" else self._lost)[name] = None


def changed_names(output: bytes) -> Iterator[tuple[str, ChangedNames]]:
    """The ids of the commits in git's patches, in order, with the names that each changed."""
    text = output.decode("utf-8", "replace")
    commit, names = "", ChangedNames()
    header, ends = "", 0
    for match in _ROW.finditer(text):
        if match["commit"]:
            if commit:
                yield commit, _with(names, header)
            commit, names, header = match["commit"], ChangedNames(), ""
        elif match["sign"]:
            if header and _BEFORE_DEFINITION.fullmatch(text, ends, match.start()):
                header = ""  # it names the unit before the one that begins here
            names.add(_name(match), match["sign"])
        else:
            _with(names, header)
            header, ends = match["header"].strip(), match.end() + 1
    if commit:
        yield commit, _with(names, header)


def _with(names: ChangedNames, header: str) -> ChangedNames:
    """The names, and the one that a hunk's header tells."""
    found = _HEADER.match(header)
    if found:
        names.add(_name(found), "")
    elif header:
        called = _CALLED.search(header)
        name = called and (called[1] or called[2])
        if name and name not in _KEYWORDS.split():
            names.add(name, "")
    return names


def _name(match: re.Match[str]) -> str:
    return match["named"] or match["method"] or match["function"] or match["value"]

"""Relations of a piece of code: its uses and its users, by names of the symbol table.

A name is no proof of a meaning. So names that few units define come first, names that many define are left out, and a
method of another file counts only where its name follows a dot or the like, except where a language lets subclasses
call it without. A file's own definition hides those of other files. Plain words seldom lead to another language, and no
name leads from other code to tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from winnow_engine.core import Unit, UnitKind
from winnow_engine.index.file_rules import COMMENT
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.name_rules import is_test
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Cursor

_FAMILIES = {"cpp": "c", "kotlin": "java", "ocaml_interface": "ocaml", "scala": "java"} | dict.fromkeys(
    ("component", "css", "html", "scss", "tsx", "typescript"), "javascript"
)
_FOR_OTHERS = ("proto", "sql")  # languages of what others use
_UNDOTTED = ("c", "csharp", "dart", "java", "ruby", "swift")  # families: a class calls inherited methods by name alone
_VARIABLE = (  # of Ruby: `total =`, `|total|`, `def take(total)`
    rb"(?<![\w.@$])%b\s*(?:[-+*/|&]{0,2}|<<)=(?![=~>])|(?<!\|)\|(?!\|)[^|\n]*(?<!\w)%b(?!\w)[^|\n]*\|(?!\|)"
    rb"|\bdef [^\n(]*\([^\n)]*(?<!\w)%b(?!\w)"
)
_OWN = rb"\b(?:[Ss]elf|this|cls|static)(?:\.|->|::)\s*%b(?!\w)"  # a member of the same class
_OTHERS = rb"(?<!\b[Ss]elf)(?<!\bthis)(?<!\bcls)(?<!\bstatic)(?:\.|->|::)\s*%b(?!\w)"
_BROUGHT = rb"(?<!\w)%b\b[^\n=]*=\s*(?:(?:await\s+)?@?(?:import|require)\b|[\w.:]*[.:]%b(?!\w))"  # from elsewhere
_OPEN_TYPES = ("rust", "swift")  # languages with blocks that add to a type, perhaps one that is defined elsewhere
_ADDS = re.compile(rb"(?m)^[ \t]*(?:(?:fileprivate|internal|open|private|public|unsafe)[ \t]+)*(?:impl|extension)\b")
_BLOCK = re.compile(rb"(?ms)^[ \t]*/\*.{0,9999}?\*/")  # a comment whose lines may begin like code
_MOST_DEFINITIONS = 3  # of one name, beyond which nothing tells which one is meant


@dataclass(frozen=True, slots=True)
class Relation:
    """One related place: a unit of a file, the line of it that matters, and the name that relates."""

    name: str
    file: IndexedFile
    unit: Unit
    line: int

    @property
    def text(self) -> str:
        """The line's text, without the space around it."""
        return self.file.text_of_lines(self.line, self.line).strip()


@dataclass(frozen=True, slots=True)
class Relations:
    """A place's units, the definitions they use, and the uses of their definitions; the surest first, tests last."""

    units: tuple[Unit, ...]
    uses: tuple[Relation, ...]
    used_by: tuple[Relation, ...]


def relations(workspace: Workspace, cursor: Cursor) -> Relations:
    """Uses and users of the units at a cursor. PositionError if it is nowhere in the workspace."""
    at = workspace.units_at(cursor)
    file = workspace.file(cursor.path)
    defined, used = workspace.names_at(cursor)
    uses = (
        _related(workspace, name, number, defined=True)
        for name in _surest_first(workspace, used, near=file)
        for number in _nearest(name, workspace, file, [workspace.units[number] for number in at])
        if number not in at and _may_be_meant(name, file, workspace, at, number)
    )
    used_by = (
        _related(workspace, name, number)
        for name in _surest_first(workspace, defined, near=file)
        if (here := [workspace.units[number][1] for number in _defining(name, workspace, file) if number in at])
        for number in _sources(workspace.symbols.using_name(name), workspace, file)
        if number not in at and _may_mean(name, workspace.units[number], here, file)
        if not _hides(name, workspace, file, workspace.units[number])
    )
    tests_last = sorted(used_by, key=lambda user: is_test(user.file.path))
    return Relations(tuple(workspace.units[number][1] for number in at), tuple(uses), tuple(tests_last))


def _defining(name: str, workspace: Workspace, near: IndexedFile) -> list[int]:
    """The units that define a name, but for copies, blocks that only add to a type, and tests of other code."""
    code, defining = not is_test(near.path), workspace.symbols.defining(name)
    known = [number for number in defining if not (code and is_test(workspace.units[number][0].path))]
    units = _sources(known, workspace, near)
    return [number for number in units if not _adds(*workspace.units[number])]


def _nearest(
    name: str, workspace: Workspace, near: IndexedFile, users: Sequence[tuple[IndexedFile, Unit]]
) -> list[int]:
    """The units that define a name for some units of a file: the file's own, if these can only mean them."""
    defining = _defining(name, workspace, near)
    own = [number for number in defining if workspace.units[number][0] is near]
    return own if own and _means_own(name, users, [workspace.units[number][1] for number in own]) else defining


def _hides(name: str, workspace: Workspace, file: IndexedFile, user: tuple[IndexedFile, Unit]) -> bool:
    """True if a unit means the definition of its own file, which is not the other side of this one, as of a header."""
    (stem, _, suffix), (its_stem, _, its_suffix) = (one.path.rpartition(".") for one in (file, user[0]))
    beside = suffix != its_suffix and stem.rpartition("/")[2] == its_stem.rpartition("/")[2]
    defining = [workspace.units[number] for number in workspace.symbols.defining(name)]
    own = [unit for other, unit in defining if other is user[0]]
    return user[0] is not file and not beside and bool(own) and _means_own(name, [user], own)


def _means_own(name: str, users: Sequence[tuple[IndexedFile, Unit]], own: Sequence[Unit]) -> bool:
    """True if units of one file mean its own definitions of a name: none takes it from another object or module."""
    file, word = users[0][0], re.escape(name.encode())
    texts = [file.data[unit.start_byte : unit.end_byte] for _, unit in users]
    origins = [file.data[unit.start_byte : unit.end_byte] for unit in own]
    taken = any(re.search(_OTHERS % word, text) for text in texts)
    if taken or any(re.search(_BROUGHT % (word, word), text) for text in origins):
        return False
    bare = _family(file) in (*_UNDOTTED, "elixir") or any(unit.kind is not UnitKind.METHOD for unit in own)
    return bare or any(re.search(_OWN % word, text) for text in texts)


def _adds(file: IndexedFile, unit: Unit) -> bool:
    may_add = unit.kind is UnitKind.CLASS_HEADER and file.language and file.language.name in _OPEN_TYPES
    return bool(may_add) and _ADDS.search(file.data, unit.start_byte, unit.end_byte) is not None


def _sources(units: Sequence[int], workspace: Workspace, near: IndexedFile) -> list[int]:
    """The units outside of copies that a build wrote; all if there are none, or for code of such a copy."""
    copies = workspace.are_copies & ~workspace.are_copies[workspace.file_number(near.path)]
    return [n for n, copied in zip(units, copies[workspace.files_of(units)], strict=True) if not copied] or list(units)


def _may_be_meant(name: str, file: IndexedFile, workspace: Workspace, at: range, number: int) -> bool:
    (other, unit), users = workspace.units[number], [workspace.units[user] for user in at]
    if _by_chance(name, users, other):
        return False
    called = _is_member(name, users) or any(_is_called(name, *user) for user in users)
    return other is file or unit.kind is not UnitKind.METHOD or called


def _may_mean(name: str, user: tuple[IndexedFile, Unit], defined: Sequence[Unit], file: IndexedFile) -> bool:
    """True if a unit may use a name that these units of a file define.

    Outside the file a plain word needs a dot to be a method, except in the same class, or called in an `_UNDOTTED`
    language.
    """
    if _by_chance(name, [user], file):
        return False
    methods = all(unit.kind is UnitKind.METHOD for unit in defined) and name.islower() and name.isalpha()
    same = user[0] is file or user[1].name.rpartition(".")[0] in {unit.name.rpartition(".")[0] for unit in defined}
    return not methods or same or _is_member(name, [user]) or _is_called(name, *user)


def _by_chance(name: str, users: Sequence[tuple[IndexedFile, Unit]], definer: IndexedFile) -> bool:
    """True for a test's name in other code, and for a plain word that another language defines: `map`, `config`.

    C defines members for other languages, too.
    """
    user, family = users[0][0], _family(definer)
    if is_test(definer.path) > is_test(user.path):
        return True
    if not (name.islower() and name.isalpha()):
        return False
    return family not in (None, _family(user), *_FOR_OTHERS) and not (family == "c" and _is_member(name, users))


def _is_called(name: str, file: IndexedFile, unit: Unit) -> bool:
    """True if the name, without a dot, may be a method's of the unit's own class.

    Ruby needs no brackets to call it, but there a variable of the unit may have the name.
    """
    family, word, span = _family(file), re.escape(name.encode()), (unit.start_byte, unit.end_byte)
    called = re.compile(rb"(?<!\w)%b%b" % (word, rb"(?!\w|:(?!:))" if family == "ruby" else rb"\s*\("))
    if family not in _UNDOTTED or not called.search(file.data, *span):
        return False
    return family != "ruby" or not re.compile(_VARIABLE % ((word,) * 3)).search(file.data, *span)


def _is_member(name: str, users: Iterable[tuple[IndexedFile, Unit]]) -> bool:
    """True if the name follows a dot or the like in one of the units."""
    member = re.compile(rb"(?:\.|->|::)\s*%b(?!\w)" % re.escape(name.encode()))
    return any(member.search(file.data, one.start_byte, one.end_byte) for file, one in users)


def _family(file: IndexedFile) -> str | None:
    return _FAMILIES.get(file.language.name, file.language.name) if file.language else None


def _surest_first(workspace: Workspace, names: Iterable[str], near: IndexedFile) -> list[str]:
    """Names with the fewest definitions first; of equally many, those defined in the same file."""
    defining = {name: _defining(name, workspace, near) for name in names}

    def order(name: str) -> tuple[int, bool, str]:
        found = defining[name]
        return len(found), all(workspace.units[number][0] is not near for number in found), name

    return sorted((name for name, found in defining.items() if 0 < len(found) <= _MOST_DEFINITIONS), key=order)


def _related(workspace: Workspace, name: str, number: int, *, defined: bool = False) -> Relation:
    file, unit = workspace.units[number]
    return Relation(name, file, unit, line_of_name(name, file, unit, defined=defined))


def line_of_name(name: str, file: IndexedFile, unit: Unit, *, defined: bool) -> int:
    """The first line of a unit with a name that is no comment, or else the first of all.

    Of a name that is `defined` there, a line with nothing but words before it comes first: `export type Name =`.
    """
    code, named = file.data[unit.start_byte : unit.end_byte], rb"(?<!\w)%b(?!\w)" % re.escape(name.encode())
    comment = (rb"(?!\s*#[ \t]*define\b)" if _family(file) == "c" else b"") + COMMENT.pattern  # code in C
    without = _BLOCK.sub(lambda block: re.sub(rb".", b" ", block[0]), code)
    befores = [rb"[ \t\w@#]*?"] * defined + [rb".*?"]
    lines = (re.search(rb"(?m)^(?!%b)%b%b" % (comment, before, named), without) for before in befores)
    found = next(filter(None, lines), None) or re.search(named, code)
    return file.lines.line_of(unit.start_byte + (found.end() - 1 if found else 0))

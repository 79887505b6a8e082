"""Findings of a review: of a model, if their lines exist, and of rules on names and conflicts."""

from __future__ import annotations

import builtins
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from winnow_engine.changes.diff_text import TouchedFile
from winnow_engine.core import FUNCTIONS, UnitKind
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.names import identifiers
from winnow_engine.index.units import enclosing
from winnow_engine.index.workspace import Workspace
from winnow_engine.prompting.markdown import unwrapped
from winnow_engine.prompting.places import NamedPlace, PlaceReader
from winnow_engine.review.uses import IMPORTING_NAMES, RemovedName, used_lines, written_in

Confidence = Literal["low", "medium", "high"]
"""How sure a finding is. A model's own word counts at most as much as what was checked of it."""

QUESTION = (
    "Review this change. First say in one sentence what it does. Then list the problems that it introduces, each on a "
    "line of its own: `path:line`, then high, medium or low for how sure you are, then the reason. Name bugs, callers "
    "and tests that no longer fit, and unfinished work, not matters of style. If there is none, write: No problems."
)

_LEVELS: tuple[Confidence, ...] = get_args(Confidence)
_LINK = re.compile(r"[`*_]*\]\(.*?#L[\dL-]+\)")
_LEVEL = re.compile(r"\b(high|medium|low)\b(?:\s+confidence)?", re.IGNORECASE)
_EDGES = " \t-–—:|,."
_QUOTED = re.compile(r"`([^`\n]{1,200})`")
_MOST_CHARACTERS = 600
_MOST_LINES = 80  # that a finding may be about


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem at some lines of the workspace, and who found it: a rule's name, or `model`."""

    path: str
    start_line: int
    end_line: int
    reason: str
    confidence: Confidence
    rule: str


def findings_of(answer: str, touched: Sequence[TouchedFile], workspace: Workspace) -> tuple[list[Finding], int]:
    """The findings of an answer, each place once, and the number of its lines that name no line that exists."""
    reader = PlaceReader(workspace)
    lines = [(line, place) for line in answer.splitlines() if (place := _place(line, reader))]
    changed = {one.now.file.path: set(_changed_lines(one)) for one in touched if one.now.file is not None}
    found = [_finding(line, place, changed, workspace) for line, place in lines]
    return list({(one.path, one.start_line): one for one in found if one}.values()), found.count(None)


def summary_of(answer: str, workspace: Workspace) -> str:
    """The first sentence that is no finding, in one line; "" if there is none."""
    reader = PlaceReader(workspace)
    plain = (unwrapped(line) for line in answer.splitlines() if not _place(line, reader))
    first = next((line for line in plain if len(line) > 20), "")
    return re.sub(r"(?<=[.!?]) [^.!?]*:$", "", first)[:_MOST_CHARACTERS]  # not what leads to a list


def _place(line: str, reader: PlaceReader) -> NamedPlace | None:
    places = list(reader.places(line))
    return next((place for place in places if place.lines), places[0] if places else None)


def _finding(line: str, place: NamedPlace, changed: Mapping[str, set[int]], workspace: Workspace) -> Finding | None:
    """The finding of a line with a place, if that exists and something is said of it."""
    rest = _LINK.sub("", line[place.end :], count=1)
    level = _LEVEL.search(rest[:40])
    reason = _reason(rest[level.end() :] if level else rest)
    if place.lines is None or not reason or place.lines.end_line - place.lines.start_line > _MOST_LINES:
        return None
    path, start, end = place.lines.path, place.lines.start_line, place.lines.end_line
    said: Confidence = _LEVELS[_LEVELS.index(level[1].lower())] if level else "low"
    at_change = bool(changed.get(path, set()) & set(range(start, end + 1)))
    confidence = _checked(said, reason, at_change, workspace, path)
    return Finding(path, start, end, reason[:_MOST_CHARACTERS], confidence, "model")


def _reason(text: str) -> str:
    """The text without what divides it from its place; brackets and stars at its end stay if they have a partner."""
    text = text.lstrip("`*_)]").strip(_EDGES)
    inner = text.rstrip(_EDGES + ")]*")
    return text.rstrip(_EDGES + "".join(mark for mark, partner in (")(", "][", "**") if partner not in inner))


def _checked(said: Confidence, reason: str, at_change: bool, workspace: Workspace, path: str) -> Confidence:
    """At most `medium` away from the changed lines, and `low` if the reason names code that is nowhere."""
    if not _names_exist(reason, workspace, path):
        return "low"
    return said if at_change else min(said, "medium", key=_LEVELS.index)


def _names_exist(reason: str, workspace: Workspace, path: str) -> bool:
    """True if the code names between backticks occur in the workspace; the file itself counts whole."""
    names = {name for quoted in _QUOTED.findall(reason) for name in identifiers(quoted) if len(name) > 2}
    text = _words(workspace.file(path).data) if names else set()
    return all(name in text or workspace.symbols.has(name) for name in names)


def _changed_lines(one: TouchedFile) -> Iterable[int]:
    """The lines of the workspace that the change wrote, and those next to lines that it removed."""
    for hunk in one.units.file.hunks:
        lines = hunk.after or (hunk.after.start - 1, hunk.after.start)
        yield from filter(None, map(one.now.line, lines))


STILL_USED, CONFLICT, CORRECTED = "still-used", "conflict-marker", "corrected"
RULES = {
    STILL_USED: "A name whose definition was removed is still used.",
    CONFLICT: "A conflict was not resolved.",
    CORRECTED: "A language model, asked to repeat the code, corrected a line.",
    "model": "A language model's finding at a line that exists.",
}
"""What each rule says, by name."""

_MARKER = re.compile(rb"(<{7}|>{7})( |$)")
_PART = re.compile(rb"[^\s,;{}()]+")  # of an import line: a name or a whole path
_PASSES_ON = re.compile(  # what may pass a name on besides imports: an export, or what stands before a value
    rb"\s*(?:(?:export (?:(?:type|const|let|var) )?[*{]|(?:export import|module\.exports|__all__)\b).*"
    rb"|^[(\[]?[\w.*]+(?:\s*[,=]\s*[\w.*]+)*(?:\s*,)?\s*(?:[)\]]\s*)?=(?!=)"  # several names
    rb"|(?:\w+ as )?[\w.$\[\]'\"]+\s*(?:[:=](?!=)|(?:,\s*)?(?:#.*|//.*)?$))"
)
_CLAUSE = re.compile(rb"\A\s*(?:(?:else|finally|try|(?:elif|except|if|with)\b[^:\n]*):\s+)?")  # Python's, before code
_DECLARED = re.compile(  # a prototype of C
    rb"\s*(?:(?:extern|inline|namespace)\b[^{}();=]*\{\s*)*"
    rb"\w[^\n#=(){};/]*[\s*&](\w+)\s*\((?!\s*[-\d\"'])[^{};]*(?:;|,\s*$)"
)
_MOST_USES = 5  # of one name


def rule_findings(touched: Sequence[TouchedFile], workspace: Workspace) -> Iterator[Finding]:
    """All that the rules find, in the order of files and lines."""
    yield from _conflicts(touched)
    imports, counts = list(_imports(touched)), Counter[str]()
    for path, names in sorted(_users(touched, workspace).items()):
        file = workspace.file(path)
        few = [one for one in names if counts[one.name] < _MOST_USES and not _imported(one, file, imports)]
        for name, line in used_lines(file, few) if few else ():
            counts[name] += 1
            if counts[name] <= _MOST_USES:
                reason = f"`{name}` is used here, but this change removed its definition"
                yield Finding(path, line, line, reason, "medium", STILL_USED)


def _conflicts(touched: Sequence[TouchedFile]) -> Iterator[Finding]:
    for one in touched:
        for hunk in one.units.file.hunks:
            for line in hunk.after:
                now = one.now.line(line)
                if now is not None and one.now.file and _MARKER.match(one.units.file.after_lines[line - 1]):
                    yield Finding(one.now.file.path, now, now, "a conflict marker was left here", "high", CONFLICT)


def _users(touched: Sequence[TouchedFile], workspace: Workspace) -> Mapping[str, Iterable[RemovedName]]:
    """Files by path, with the names they use that the change took the definition of and that nothing defines now.

    Methods are left out: a base outside of the workspace may have them. So are names of functions of the language, and
    uses elsewhere of one that the file of its definition now passes on, as in `exports.name = other`.
    """
    before, found = defaultdict[str, set[str]](set), defaultdict[str, dict[str, RemovedName]](dict)
    written = dict[str, set[str]]()
    for one in touched:
        changed = one.units.file
        new = [line for hunk in changed.hunks for line in hunk.after]
        others = filter(None, (_PASSES_ON.match(_at_margin(one, line)) for line in new))
        written[changed.path] = _words(b"\n".join([*_import_lines(one, new), *(found[0] for found in others)]))
        for name, unit in one.units.before.symbols.definitions:
            if one.units.before.units[unit].kind != UnitKind.METHOD:
                before[name] |= {changed.path, changed.before_path or changed.path}
    after = {name for one in touched for name in [*_declared(one), *dict(one.units.after.symbols.definitions)]}
    for name in sorted(before.keys() - after):
        removed, symbols = RemovedName(name, before[name]), workspace.symbols
        passed_on = any(name in written.get(path, ()) for path in removed.paths)
        for number in symbols.using_name(name) if not len(symbols.defining(name)) else ():
            file, user = workspace.units[number]
            own = hasattr(builtins, name) and not written_in(file, {*IMPORTING_NAMES} - {"python"})
            elsewhere = passed_on and file.path not in removed.paths
            if not (own or elsewhere) and user.kind not in (UnitKind.SECTION, UnitKind.BLOCK):
                found[file.path][name] = removed
    return {path: names.values() for path, names in found.items()}


def _at_margin(one: TouchedFile, line: int) -> bytes:
    """A line after the change. Outside of functions it lacks its indentation and a clause before it (`else: `)."""
    units, text = one.units.after.units, one.units.file.after_lines[line - 1]
    return text if units[enclosing(units, line)].kind in FUNCTIONS else _CLAUSE.sub(b"", text)


def _declared(one: TouchedFile) -> Iterator[str]:
    """Functions that new lines of C declare: their definitions may be elsewhere by now."""
    if one.now.file is not None and written_in(one.now.file, ("c", "cpp")):
        units = one.units.after.units
        for line in (line for hunk in one.units.file.hunks for line in hunk.after):
            found = _DECLARED.match(one.units.file.after_lines[line - 1])
            if found and units[enclosing(units, line)].kind not in FUNCTIONS:
                yield found[1].decode()


def _imports(touched: Sequence[TouchedFile]) -> Iterator[tuple[str, bytes]]:
    """Import lines that may take a name from other code than before, by the path of their file.

    These are the lines with words new to the file, unless they only add names and paths to a line they replace.
    """
    for one in touched:
        file, known = one.units.file, _words(one.units.file.before or b"")
        for hunk in file.hunks:
            written = _import_lines(one, hunk.after)
            replaced = [set(_PART.findall(file.before_lines[line - 1])) for line in hunk.before if written]
            for text in written:
                parts = set(_PART.findall(text))
                if _words(text) - known and not any(old and old <= parts for old in replaced):
                    yield file.path, text


def _import_lines(one: TouchedFile, lines: Iterable[int]) -> list[bytes]:
    """The text of those of a file's lines after the change that stand in a unit of imports."""
    units, texts = one.units.after.units, one.units.file.after_lines
    return [texts[line - 1] for line in lines if units[enclosing(units, line)].kind == UnitKind.IMPORTS]


def _words(text: bytes) -> set[str]:
    return identifiers(text.decode("utf-8", "replace"))


def _imported(removed: RemovedName, file: IndexedFile, imports: Sequence[tuple[str, bytes]]) -> bool:
    """True if new import lines of a file bring the name, or may, as they do not say what they bring."""
    word = re.compile(rb"(?<![\w.])%b(?!\w)" % re.escape(removed.name.encode()))
    lines = (text for path, text in imports if path == file.path)
    return any(word.search(text) or b"*" in text or not written_in(file, IMPORTING_NAMES) for text in lines)

"""The definitions of names that a question is about: `Pool`, "Where is Pool defined?", "How does `Pool` work?".

A question about the use of a name is about other code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import DEFINITIONS, UnitKind
from winnow_engine.index.languages import for_path
from winnow_engine.index.name_rules import module_of
from winnow_engine.index.names import folded
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Question
from winnow_engine.selection.file_roles import files_meant
from winnow_engine.selection.literals import flag_names, having_literal, having_message, outside_tests
from winnow_engine.selection.overview_words import names_nothing_else, says_nothing, says_nothing_else
from winnow_engine.selection.subquestions import subquestions_of

*_CALLABLE, CLASS, _IMPORTS, _LOOSE = map(list(UnitKind).index, (*DEFINITIONS, UnitKind.IMPORTS, UnitKind.TOP_LEVEL))
_MOST_OF_BARE, _MOST_OF_SUBJECT = 16, 4  # definitions of a name; of one with more, none is meant
_MOST_SUBJECTS, _LONGEST = 3, 500  # names, and characters of a question
_SEPARATOR = r"\.|::|#|->|\\"
_NAME = rf"[^\W\d][\w$]*(?:(?:{_SEPARATOR})[\w$]+)*"
_ARGUMENTS = r"\((?:[^()]|\([^()]*\))*\)?"
_BARE = re.compile(rf"\W*(?P<name>{_NAME}[!?']*)(?:(?<![A-Z])/\d)?(?:{_ARGUMENTS})?\W*")  # `take()`, `take!/2`
_DECLARED = re.compile(  # `def take`, `func (p *Pool) take() int`, `export class Pool extends Shop {`
    r"\s*(?:(?:abstract|async|default|export|final|internal|open|private|protected|pub(?:\(\w+\))?|public|static|unsafe)\s+)*"
    r"(?:(@(?:macro)?callback|const|def(?:macro|macrop|module|p)?|fn|func?|impl|va[lr])|class|enum|function|interface|struct|trait|type)\s+"
    rf"(?:\([^()]*\)\s*)?(?P<name>{_NAME}[!?]?)(?:(?:[(<[]|\s*(?:[={{]|:\W*$|(?<=\s):)|\s+(?:extends|implements|interface|struct)\b).*"
    r"|(?(1)(?:\W*|:.*|\s+(?:do|for)\b.*)|$^))"
)
_WORDS = re.compile(r"\W*([^\W\d_]\w*(?:[ -]\w+){1,3})\W*")
_KIND = (
    r"(?:(?<![a-zà-я])(?:class|function|method|type|struct|interface|trait|enum|macro|constant|decorator|option|hook|module"
    r"|klasse|funktion|methode|clase|función|método|classe|fonction|méthode|[Кк]ласс[а-я]?|[Фф]ункци[а-я]|[Мм]етод[а-я]?)(?![a-zà-я])"
    r"|クラス|関数|メソッド|[类類]|函[数數]|方法)"
)
_CALLED = (
    r"(?:\s*(?:(?:that\sis\s)?(?:called|named)(?!\s(?:after|as|at|before|by|during|for|from|if|in|inside|on|once|to|twice|when|with)\b)"
    r"|(?:by|with)\s(?:the\s)?name(?:\sof)?|namens|mit\s(?:dem\s)?namen|llamad[ao]|que\sse\sllama|con\s(?:el\s)?nombre|de\snombre"
    r"|(?:nomm|appel)ée?|qui\ss.appelle|du\snom\sde|под\sназванием|с\s(?:именем|названием)|по\sимени|名[为為叫]|叫做?)\s*[\"'«„“]?)"
)
_WHERE_DEFINED = re.compile(
    rf"(?i)(?:where (?:is|are|does)|find|show|definition of|declaration of)\W+(?:the )?"
    rf"(?:{_KIND}{_CALLED}?)?\W*(?P<name>{_NAME}[!?']*)(?:`\W*{_KIND})?\W*(?:defined|declared|definition|live)?\W*"
)
_BESIDE_KIND = re.compile(
    rf"(?ai)({_KIND}(?:({_CALLED})|\s*))?(?<![\w`.$-])([a-z_]\w*(?:(?:\.|::|#|->)\w+)*)(?![\w`(-])"
    rf"(?(1)|(?=\s*(?:(という(?:名前?の)?)|的)?\s*{_KIND}))"
)
_WORDS_OF_CLASS = re.compile(
    r"(?i)(?<![\w`.$-])(?:[a-z]\w*[ -]){0,3}(?!(?:an?|any|each|every|in|its|no|of|one|some|th(?:at|e|is)|which)\s)"
    r"[a-z]\w*(?=\s(?:class|enum|struct|trait)\b)"
)
_CALLED_SO = re.compile(rf"(?i)(?<!which )(?<!what ){_KIND}{_CALLED}`")
_IN_CODE_FORM = re.compile(
    rf"`\W*({_NAME})(?:\([^`]*)?\W*`|\b({_NAME})(?:\(\)|(?=\())"
    r"|\b((?:\w+(?:\.|::|#|->))*(?:_*[^\W\d_]+\d*_\w+|_*[A-Z]*[a-z]\w*[A-Z]\w*)(?:(?:\.|::|#|->)\w+)*)\b"
)
_IS_SUBJECT = re.compile(
    rf"(?i)\W*(?:how|what|why|when)\s+(?:exactly\s+)?(?:does|do|is|are|can|will|did|was|has|should)\s+(?:the\s+)?(?:{_KIND}\s+)?`"
)
_IN = re.compile(
    rf"(?i)\W*(?:the\s)?\W*({_NAME})\W*(?:\s{_KIND})?\s(?:in|of|from)\s(?:the\s)?(?:{_KIND}\s)?\W*([\w./-]*\w)(?:\s{_KIND})?\W*"
)
_BESIDE = re.compile(rf"\W*(?:({_NAME})\s|([\w./-]*\w):)({_NAME})\W*")
_PATH = re.compile(r"[\w./-]*[\w-]", re.ASCII)
_FILE = re.compile(r"\b(?:file|module|script)\b", re.IGNORECASE)
_KINDS = re.compile(
    rf"(?i){_KIND}|\b(?:implement|implementation|implemented|defined|declared|definition|lives?|locate|located|definiert|liegt"
    r"|finde|zeig|define|defin[ei]d[oa]|muéstrame|définie?|trouve|montre|определ[её]н\w?|покажи)\b|定義|定义|名前?|叫做?"
)
_USE = re.compile(
    r"(?i)\b(?:us(?:es?|ed|ers?|ing|ages?)|call(?:s|ed|ers?|ing)?|invo[kc]\w*|referenc\w*|import\w*|depend\w*|instantiat\w*|subclass\w*"
    r"|created|constructed|passed|tested|triggered|raised|thrown|caught|registered|emitted|fired"
    r"|verwende\w*|benutz\w*|nutz\w*|aufruf\w*|aufgeruf\w*|ruft|usa\w*|utili[sz]\w*|llama\w*|appel\w*|использ\w*|вызыва\w*"
    r"|вызов\w*)\b|使用|使わ|使っ|呼|调用|調用|引用"
)

_SENTENCES = re.compile(r"(?<=[.?!;])\s+|(?<=[。？！；])\s*|\n+")
_AND_ASKING = re.compile(
    r"(?i)\b(?:and (?:how|what|where|which|who|why|when)|und (?:wie|was|wo|wer|wann|warum|welche\w?)"
    r"|y (?:cómo|qué|dónde|quién|cuándo|por qué|cuál)|et (?:comment|où|quand|pourquoi|que|quel\w*)"
    r"|и (?:как|где|кто|когда|почему|зачем|какой|какие))\b"
)


def asks_further(text: str) -> bool:
    """True if a text has several sentences, or a clause that asks for more than the first."""
    return len(_SENTENCES.split(text.strip())) > 1 or _AND_ASKING.search(text) is not None


def defining(question: Question, workspace: Workspace) -> list[int]:
    """Units whose lines a question names, or that define the names or make up the file it is about; tests last."""
    if question.places or len(question.text) > _LONGEST:
        return list(question.places)
    for owner, name in _members(question.text):
        if units := _definitions(name if for_path(owner) else f"{owner}.{name}", _MOST_OF_BARE, workspace, owner):
            return [*units]
    literal = cache(lambda: having_literal(question.text, workspace))
    called = (_definitions(name, _MOST_OF_SUBJECT, workspace) for name in flag_names(question.text))
    if units := (question.text.lstrip().startswith("-") and literal()) or [*next(filter(None, called), ())]:
        return units
    text = _WORDS_OF_CLASS.sub(lambda words: _class_of(words[0], workspace), workspace.symbols.spaced(question.text))
    text = _BESIDE_KIND.sub(lambda name: _quoted(name, workspace), text)
    whole = _BARE.fullmatch(text) or _declared(question.text) or _WHERE_DEFINED.fullmatch(text)
    said = filter(None, (whole, *map(_BARE.fullmatch, _SENTENCES.split(text))))
    bare = list(dict.fromkeys(_without_mark(found["name"], workspace) for found in said))
    names, most = (bare, _MOST_OF_BARE) if bare else (_subjects(text), _MOST_OF_SUBJECT)
    found = dict.fromkeys(unit for name in names for unit in _definitions(name, most, workspace))
    if units := [*found] or _units_of_file(question.text, workspace) or literal():
        return units
    begun = [name for name in bare if whole or _IN_CODE_FORM.fullmatch(name)]
    units = having_message(question.text, workspace) or _resembling(text, begun, workspace)
    return units or _units_in(files_meant(question.text, workspace), workspace)


def _without_mark(name: str, workspace: Workspace) -> str:
    """`Pool` for `Pool?`, but `empty?` where that is defined."""
    return name if workspace.symbols.defining(re.split(_SEPARATOR, name)[-1]) else name.rstrip("!?'")


def _declared(text: str) -> re.Match[str] | None:
    """The declaration that a text is, unless it goes on to ask about uses."""
    found = _DECLARED.fullmatch(text)
    rest = re.sub(_ARGUMENTS, "", text[found.end("name") :]) if found else ""
    asks = rest.rstrip().endswith(("?", "？")) and re.search(r"\w\s+\w|[^\x00-\x7f]", rest)  # not `fun find(): User?`
    return None if asks and _USE.search(rest) else found


def _members(text: str) -> list[tuple[str, str]]:
    """Owners and names that a text may mean: "take in core.py", "take method of Pool", "core.py:take", "Pool take"."""
    if found := _IN.fullmatch(text):
        return [(found[2], found[1])]
    if found := _BESIDE.fullmatch(text):
        return [(found[1] or found[2], found[3]), *([(found[3], found[1])] if found[1] else ())]
    return []


def _units_of_file(text: str, workspace: Workspace) -> list[int]:
    """The units of the file that a text names and says nothing else about: "explain pool.py", "the pool module"."""
    text = re.sub(r"\b[A-Za-z]:(?=/)", "", text.replace("\\", "/"))
    found = workspace.file_table.named(text)
    words = _PATH.findall(text)
    name, *others = [*found] or [one for one in words if len(words) == 1 or not says_nothing_else(one)] or [""]
    rest, stem = _FILE.sub("", text.replace(name, " ")), name.removeprefix("./").strip("_/")
    if others or not stem or _USE.search(rest) or not says_nothing(rest):
        return []
    ending = r"(?:\.[^/]*)?" if "_" in name or "-" in name or _FILE.search(text) else ""
    upper = rf"(?-i:{re.escape(stem.upper())}(?:\.[^/]*)?)"  # "readme" means README.md
    named = re.compile(rf"(?:.*/)?(?:_*{re.escape(stem)}{ending}|{upper})", re.IGNORECASE if name.islower() else 0)
    absolute, paths = name if name.startswith("/") else "", workspace.file_table.paths
    near = [n for n, path in enumerate(paths) if named.fullmatch(path) or absolute.endswith(f"/{path}")]
    files = found.get(name) or [n for n in near if re.fullmatch(named.pattern, paths[n])] or near
    files = files if len(files) <= _MOST_SUBJECTS else [n for n in files if "/" not in paths[n]]
    return _units_in(files, workspace) if len(files) <= _MOST_SUBJECTS else []


def _units_in(files: Iterable[int], workspace: Workspace) -> list[int]:
    return list[int](workspace.units_of(files).tolist())


def _quoted(found: re.Match[str], workspace: Workspace) -> str:
    """`class Pool` with back-quotes round the name, if that is defined so; a lower-case one, perhaps a word, once."""
    kind, before, name, behind = found.groups("")
    called, known = before or behind, any(map(workspace.symbols.defining, (name, re.split(r"\W+", name)[-1])))
    plain = name.islower() and not called
    if ((plain or not (called or found.start())) and says_nothing_else(name)) or not known:
        return found[0]
    return f"{kind}`{name}`" if _definitions(name, 1 if plain else _MOST_OF_BARE, workspace) else found[0]


def _class_of(text: str, workspace: Workspace) -> str:
    """The text before "class", its last words joined if a class is named so: "the `NodeList`" of "the node list"."""
    words = re.split("[ -]", text)
    for at in range(len(words)):
        name = "".join(f"{word[:1].upper()}{word[1:]}" for word in words[at:])
        units = [unit for known in workspace.symbols.spelled(name) for unit in workspace.symbols.defining(known)]
        named = (
            workspace.unit_kinds[unit] == CLASS and _is_named(workspace.units[unit][1].name, name) for unit in units
        )
        if any(named):
            return " ".join([*words[:at], f"`{name}`"])
    return text


def _subjects(text: str) -> list[str]:
    """The names in code form that a question is about, and not where they are used."""
    names = list(dict.fromkeys(next(filter(None, found)) for found in _IN_CODE_FORM.findall(text)))
    marked = _CALLED_SO.sub("`", _IN_CODE_FORM.sub("`", text))
    if not 0 < len(names) <= _MOST_SUBJECTS or _USE.search(marked) or subquestions_of(text):
        return []
    return names if _IS_SUBJECT.match(marked) or says_nothing_else(_KINDS.sub("", marked)) else []


def _definitions(name: str, most: int, workspace: Workspace, within: str = "") -> Sequence[int]:
    """The units that define a name, else those of classes that declare it, within a class or file if one is given.

    Of more than `most`, those in no class count, or none; but a qualified name may have any number in one file.
    """
    *owner, last = re.split(_SEPARATOR, name)
    symbols, kinds = workspace.symbols, workspace.unit_kinds
    defined = [unit for known in symbols.spelled(name) or symbols.spelled(last) for unit in symbols.defining(known)]
    if for_path(within):
        defined = _in_file(within, defined, workspace)
    outside = outside_tests(defined, workspace)
    declared = [] if within or (outside and not owner) else _declaring(last, workspace)
    ends = [".".join(["", *owner[at:], last]).lower() for at in range(1 if within else len(owner))]
    owned = defined if within else []
    if owner:
        near = _near(owner[-1], np.array(declared, np.int64), workspace)
        owned = next(filter(None, (_ending(ends, last, (*defined, *some), workspace) for some in near)), [])
    owned = _those(np.isin(owned, defined).tolist(), owned)
    units = owned if owned or within else outside or _of_few(declared, defined, most, workspace)
    units = [unit for unit in units if kinds[unit] != _IMPORTS]
    units = outside_tests(units, workspace) or units
    names = {unit: workspace.units[unit][1].name for unit in units}
    units = _those([_is_named(names[unit], last) for unit in units], units)
    units = _those(np.isin(kinds[units], [CLASS, *_CALLABLE]).tolist(), units)
    if owned and len({*workspace.files_of(units).tolist()}) == 1:
        return units
    alone = _those(["." not in names[unit] for unit in units], units)
    return next((found for found in (units, alone) if len(found) <= (_MOST_OF_BARE if owned else most)), ())


def _near(owner: str, units: NDArray[np.int64], workspace: Workspace) -> Iterator[list[int]]:
    """Those of some units that are in files which define an owner, then those in files with it in their paths."""
    files, symbols, paths = workspace.files_of(units), workspace.symbols, workspace.file_table.paths
    known = symbols.spelled(owner) | symbols.spelled(owner[:1].upper() + owner[1:])
    owners = [unit for name in known for unit in symbols.defining(name)]
    yield units[np.isin(files, workspace.files_of(owners))].tolist()
    named = [n for n in np.unique(files).tolist() if owner.lower() in paths[n].lower().replace("-", "_")]
    yield units[np.isin(files, named)].tolist()


def _in_file(end: str, units: Sequence[int], workspace: Workspace) -> list[int]:
    """The units of files whose paths end so, in any case."""
    paths = (f"/{workspace.files[number].path}".lower() for number in workspace.files_of(units).tolist())
    return [unit for unit, path in zip(units, paths, strict=True) if path.endswith(f"/{end}".lower())]


def _ending(ends: Sequence[str], last: str, units: Iterable[int], workspace: Workspace) -> list[int]:
    """The units whose full names have the first of some ends, each an end of the one before, that any has."""
    full = {unit: _full_name(unit, last, ends[0], workspace) for unit in units}
    return next(filter(None, ([unit for unit in full if full[unit].endswith(end)] for end in ends)), [])


def _of_few(declared: list[int], defined: list[int], most: int, workspace: Workspace) -> list[int]:
    """The classes outside tests that declare a name, none of over `most`; if there is none, tests' definitions."""
    likely = outside_tests(declared, workspace) or ([] if defined else declared)
    likely = _those((workspace.unit_kinds[likely] == CLASS).tolist(), likely)
    return likely or defined if len(likely) <= most else []


def _resembling(text: str, bare: Sequence[str], workspace: Workspace) -> list[int]:
    """The units outside tests that define what two to four words spell, or a name that the one bare name resembles."""
    names: Iterable[str] = ()
    *_, last = re.split(r"\W", bare[0] if len(bare) == 1 else "")
    if (words := _WORDS.fullmatch(text)) and not names_nothing_else(text):
        names = (re.sub("[ -]", "", words[1]),)
    elif not (last.isalpha() and last.islower()):
        names = workspace.symbols.resembling(last)
    found = {unit for name in names for unit in _definitions(name, _MOST_OF_SUBJECT, workspace)}
    units = outside_tests(sorted(found), workspace)
    return units if len(units) <= _MOST_OF_SUBJECT else []


def _declaring(name: str, workspace: Workspace) -> list[int]:
    """The units that use a name and may declare it: of classes, but for methods, fields and cases; in C, prototypes."""
    users = np.array(workspace.symbols.using_name(name), np.int64)
    kinds, inside = workspace.unit_kinds[users], workspace.have_headers[users]
    loose = kinds == _LOOSE
    prototypes = _prototypes(name, users[loose & ~inside].tolist(), workspace)
    return [*users[kinds == CLASS].tolist(), *users[loose & inside].tolist(), *prototypes]


def _prototypes(name: str, units: Sequence[int], workspace: Workspace) -> list[int]:
    """The units of C with a line that begins as a function so named, those with its body if there are any.

    Branches of the preprocessor may keep the grammar from seeing a body.
    """
    begun = re.compile(rb"(?m)^(?:\w[\w \t*()]*[\s*)])?%b[ \t]*\([^;{}]*([;{])" % re.escape(name.encode()))
    found = dict[int, bool]()
    for number in units:
        file, unit = workspace.units[number]
        of_c = file.language and file.language.name in ("c", "cpp")
        if of_c and (match := begun.search(file.data, unit.start_byte, unit.end_byte)):
            found[number] = match[1] == b"{"
    return _those([*found.values()], [*found])


def _full_name(unit: int, last: str, end: str, workspace: Workspace) -> str:
    """`.pool.core.pool.take` of `take` in class Pool of pool/core.py; without the path if its class is not in `end`.

    In Kotlin a class has what its companion has.
    """
    file, found = workspace.units[unit]
    name = found.name if _is_named(found.name, last) else f"{found.name}.{last}".lstrip(".")
    name = f".{name}".lower().replace(".companion.", ".")
    return f"{module_of(file.path).replace('/', '.').lower() if end.endswith(name) else ''}{name}"


def _is_named(name: str, last: str) -> bool:
    return folded(name.rpartition(".")[2]) in (folded(last), folded(last).removesuffix("s"))


def _those(wanted: Sequence[bool], units: list[int]) -> list[int]:
    """The units that are wanted; all if none is."""
    return [unit for unit, one in zip(units, wanted, strict=True) if one] or units

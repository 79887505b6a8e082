"""Uses of removed names in a file, where its code shows that no other definition of the name is meant.

A node of a grammar that no table here knows counts as another definition: a finding must be true.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import PurePosixPath
from posixpath import normpath

from tree_sitter import Node

from winnow_engine.core import FUNCTIONS, UnitKind
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.languages import for_path
from winnow_engine.index.outline import parse_or_plain
from winnow_engine.index.syntax import Syntax
from winnow_engine.index.units import enclosing

IMPORTING_NAMES = ("component", "javascript", "python", "rust", "tsx", "typescript")
"""Languages whose imports say which names they bring."""
_SEEING_FOLDERS = ("csharp", "go", "java", "kotlin", "php", "scala", "swift")  # without an import
_ALL_NAMES = re.compile(rb"\bimport\s+\*(?!\s*as\b)")
_MOST_PLACES = 1_000  # of a name in a file
_NAMED = re.compile(r"[^\s\"'`<>(){},;]+")  # in an import: a module, a name or a keyword
_DOTS = re.compile(r"\A\.+")  # of a relative import, which is read from the top of the workspace
_ROOTS = ("crate", "self", "src", "super")  # often in a path but not in its imports, or the reverse
_IMPORT = re.compile(r"import|use_declaration|using_d")
_IMPORT_LEVELS = 8
_REQUIRE = re.compile(rb"\s{0,9}=\s{0,9}require\([^()\n]*\)")  # CommonJS
_SOURCE = re.compile(rb"[\"'][^\"'\n]+[\"']|\bfrom\s+[\w.]+\s+import")  # without the names that an import brings
_IMPORTED = re.compile(
    r"name<(?:aliased_import|import_from_statement|\w+port_specifier)|<use_list|(?:key<pair|<object)_pattern"
)
_WRAPPER = re.compile("dotted_name|expression_list|literal_element|parenthesized_expression|tuple|type|type_parameter")
_MEMBER = re.compile(rb"(?:(?<!\.\.)[.$]|->|::)\s*\Z")
_CALLED = re.compile(rb"\s*\(")
_LABEL = re.compile(r"(?:attribute|field|key|label|property)<.*|argument<command|name<(?:\w*argument|\w+_signature)")
_USE = re.compile(  # a node's field, and the kind of the node around it
    r"(?:alternative|argument|body|condition|consequence|constructor|default|default_value|element|expression|function"
    r"|index|macro|method|object|operand|return_type|returns|right|rhs|subscript|target|trait|type|value)"
    r"<(?!.*pattern).*|(?:left|lhs)?<(?:binary|boolean|comparison|conditional|unary)_(?:expression|operator)"
    r"|name<(?:annotation|export_specifier|function_call|jsx_\w+_element|marker_annotation|method_invocation"
    r"|struct_expression|template_function)|path<scoped_\w+|variable_type_function<SuffixExpr"
    r"|<(?:argument|arguments|argument_list|array|array_type|assert_statement|await|base_class_clause|base_clause"
    r"|base_list|call_expression|class_heritage|command_name|decorator|dictionary_splat|expression_statement"
    r"|extends_clause|generic_type|implements_clause|intersection_type|jsx_expression|list|list_splat|named_type|object"
    r"|pointer_type|raise_statement|return_expression|return_statement|set|slice|spread_element|superclass"
    r"|template_substitution|token_tree|type_annotation|type_arguments|type_list|union_type|user_type|yield)"
)


@dataclass(frozen=True)
class RemovedName:
    """A name that nothing defines any longer, and the paths of the files that defined it."""

    name: str
    paths: Set[str]

    @cached_property
    def origins(self) -> set[tuple[str, ...]]:
        """Modules that imports may name for its files and folders, in words."""
        places = [one for path in map(PurePosixPath, self.paths) for one in (path.with_suffix(""), path.parent)]
        modules = {one for place in places for top in ("", "/") for one in _modules(f"{top}{place}")}
        return {module[at:] for module in modules for at in range(len(module))}

    def reaches(self, file: IndexedFile, imported: Iterable[str]) -> bool:
        """True for a file that had the definition, sees its folder or has these words of imports from there."""
        folders = {PurePosixPath(one).parent for one in self.paths if written_in(file, _SEEING_FOLDERS)}
        seen = file.path in self.paths or PurePosixPath(file.path).parent in folders
        return seen or not self.origins.isdisjoint(zip(imported))


def written_in(file: IndexedFile, languages: Collection[str]) -> bool:
    """True for a file in one of the languages with these names."""
    return file.language is not None and file.language.name in languages


def _modules(path: str) -> set[tuple[str, ...]]:
    """The words of a path, with the "/" of its first one and `src` for a crate, and those without roots."""
    words = tuple(re.findall(r"^/\w*|\w+", path.lower().replace("-", "_").replace("crate::", "src::")))
    return {words, tuple(word for word in words if word not in _ROOTS)}


def _modules_in(imports: Iterable[bytes], path: str) -> set[tuple[str, ...]]:
    """Modules that imports in a file name, in words, such as ("shop", "basket"). Any other word counts as one, too."""
    text = b"\n".join(imports).decode("utf-8", "replace").replace(". import", ".__init__ import")
    names = _NAMED.findall(text)
    names += [name.rpartition(".")[0] for name in names if for_path(name)]
    folder = PurePosixPath(path).parent
    paths = (_DOTS.sub(lambda dots: f"/{folder}/{'../' * (len(dots[0]) - 1)}", name.lstrip("/")) for name in names)
    return {module for one in paths for module in _modules(normpath(one))}


def used_lines(file: IndexedFile, names: Iterable[RemovedName]) -> Iterator[tuple[str, int]]:
    """Names and lines of their uses in a file, the first in each unit."""
    parts = [file.data[unit.start_byte : unit.end_byte] for unit in file.units if unit.kind == UnitKind.IMPORTS]
    parts += _REQUIRE.findall(file.data)
    words = {one for module in _modules_in(parts, file.path) for word in module for one in (word, word.lstrip("/"))}
    reaching = [name for name in names if name.reaches(file, words)]
    if reaching and not any(map(_ALL_NAMES.search, parts)):
        syntax = parse_or_plain(file.local_path, file.data).syntax
        yield from ((name.name, line) for name in reaching if syntax for line in _lines(name, file, syntax))


def _lines(removed: RemovedName, file: IndexedFile, syntax: Syntax) -> list[int]:
    """The first line of each unit that uses the name; none if something else in the file may have it."""
    found: dict[int, int] = {}
    local, imported = set[int](), file.path in removed.paths or not written_in(file, IMPORTING_NAMES)
    places = re.finditer(rb"(?<!\w)%b(?!\w)" % re.escape(removed.name.encode()), syntax.text)
    nodes = (syntax.leaf(*place.span()) for place in islice(places, _MOST_PLACES))
    for node in filter(None, nodes):
        role, unit = _role(node), enclosing(file.units, node.start_point.row + 1)
        member = _MEMBER.search(syntax.text, max(node.start_byte - 9, 0), node.start_byte)
        if statement := _import_around(node, syntax.text):
            spans = (statement.start_byte, node.start_byte), (node.end_byte, statement.end_byte)
            source = _SOURCE.findall(syntax.text, statement.start_byte, statement.end_byte)
            modules = _modules_in(source or (syntax.text[start:end] for start, end in spans), file.path)
            known = not removed.origins.isdisjoint(modules)
            if not known or not (member or _IMPORTED.fullmatch(role)):
                return []
            imported = True
        elif member or _LABEL.fullmatch(role):
            continue
        elif not _USE.fullmatch(role) or _is_unsure(node, role, syntax):
            if file.units[unit].kind not in FUNCTIONS:
                return []
            local.add(unit)
        found.setdefault(unit, node.start_point.row + 1)
    return [line for unit, line in found.items() if unit not in local and imported]


def _is_unsure(node: Node, role: str, syntax: Syntax) -> bool:
    """True for a node with the role of a use that may be another definition or name another thing, as a module."""
    if role.startswith("path<"):
        return syntax.text_of(node).islower()
    called = _CALLED.match(syntax.text, node.end_byte)
    loose = syntax.language.packed or role == "<token_tree"
    return loose and (not called or syntax.text.endswith(b"fn ", 0, node.start_byte))


def _role(node: Node) -> str:
    """The node's field, or "", and the kind of the node around it; some of these say nothing."""
    around = node.parent
    while around and _WRAPPER.fullmatch(around.type):
        node, around = around, around.parent
    cursor = (around or node).walk()
    cursor.goto_first_child_for_byte(node.start_byte)
    return f"{cursor.field_name or ''}<{around.type if around else ''}"


def _import_around(node: Node, text: bytes) -> Node | None:
    """The outermost node of an import, or of an export from elsewhere."""
    found, around = None, node.parent
    for _ in range(_IMPORT_LEVELS):
        required = around and around.type == "object_pattern" and _REQUIRE.match(text, around.end_byte)
        if around and (required or _IMPORT.search(around.type) or around.child_by_field_name("source")):
            found = around.parent if required else around
        around = around and around.parent
    return found

"""The table of languages. `queries/NAME.scm` has the three queries of each, in the form that editors know.

Twenty grammars have a package each, the others come from tree-sitter-language-pack: docs/decisions/0019-grammars.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from winnow_engine.index.languages.base import (
    DATA_PIECE_BYTES,
    SLASHES,
    STARRED,
    DocComment,
    Language,
    from_pack,
    from_package,
)

_QUERIES = Path(__file__).parent / "queries"
_PARTS = re.compile(r"^; (statements|references|bodies)\n", re.MULTILINE)
_INHERITS = re.compile(r"; inherits (\w+)\n")


def _queries(name: str) -> Mapping[str, Any]:
    """The queries of a file by name, each behind that of the file which it inherits from."""
    outline, *rest = _PARTS.split((_QUERIES / f"{name}.scm").read_text(encoding="utf-8"))
    found: dict[str, str] = {"outline": outline, **dict(zip(rest[::2], rest[1::2], strict=True))}
    parent = _INHERITS.match(outline)
    inherited = _queries(parent[1]) if parent else {}
    return {part: inherited.get(part, "") + found.get(part, "") for part in inherited.keys() | found.keys()}


def _written_out(query: str) -> str:
    """A query with its names written out by its lines `; NAME = pattern`; a child's line overrides its parent's."""
    for name, pattern in reversed(dict(re.findall(r"(?m)^; ([A-Z]+) = (.+)", query)).items()):
        query = re.sub(rf"\b{name}\b", pattern.replace("\\", r"\\"), query)
    return query


def _language(
    name: str,
    files: str,
    grammar: Callable[[], object],
    documentation: DocComment | None = None,
    queries: str = "",
    keywords: Mapping[str, str] | None = None,
    **other: Any,
) -> Language:
    """A language with the suffixes and names of its files, and for captures of its queries the words they may have."""
    return Language(
        name=name,
        suffixes=tuple(one for one in files.split() if one.startswith(".")),
        filenames=tuple(one for one in files.split() if not one.startswith(".")),
        grammar=grammar,
        documentation=documentation,
        keywords={capture: words.split() for capture, words in (keywords or {}).items()},
        **dict[str, Any]((part, _written_out(query)) for part, query in _queries(queries or name).items()),
        **other,
    )


def _packed(
    name: str, files: str, documentation: DocComment | None = None, dotted: bool = False, **keywords: str
) -> Language:
    """A language with a grammar of the pack, named as there."""
    return _language(name, files, from_pack(name), documentation, keywords=keywords, packed=True, dotted=dotted)


# Macros that a grammar takes for names: `class MYLIB_API Widget : public Base {`, also with attributes; Qt's sections;
# lines of their own before a class, namespace or section; and those around a function's type or behind its parameters.
# Possessive quantifiers: else indented calls hang it.
_MACROS = re.compile(
    rb"\b(?:class|struct|union)\s+"
    rb"((?:(?:[A-Z_][A-Z0-9_]+|\w+_(?:api|export))\b(?:\s*\([^()\n]{0,200}\))?\s*"
    rb"|(?:alignas|__declspec)\s*\([^()\n]{0,200}\)\s*|\[\[[^\]\n]{0,200}\]\]\s*){1,6})"
    rb"(?!final\b)[A-Za-z_][\w:]*(?:\s*<[^;{}]{0,200}>)?\s*(?:\bfinal\s*)?(?:\{|:(?!:))"
    rb"|\b(?:public|protected|private)\s+(Q_SLOTS|slots)\b|^[ \t]*((?:Q_SIGNALS|signals)[ \t]*:)"
    rb"|^((?:[ \t]*+[A-Z][A-Z0-9_]{2,}+(?:\([^\n]{0,200}\))?[ \t]*+\n\s*+){1,9}+)"
    rb"(?=(?:class|struct|union|enum|template|namespace|public|protected|private)\b)"
    rb"|^[ \t]*+(?:(?:static|inline|virtual|friend|extern)[ \t]++)*+((?:[A-Z][A-Z0-9]*+_[A-Z0-9_]++[ \t]++){1,3})"
    rb"(?=[\w:][\w:<>,*& \t]{0,120}(?:[ \t*&]|::)~?\w++[ \t]?\()"
    rb"|^[ \t]*+(?:(?:static|inline|virtual|friend|extern|const|constexpr)[ \t]++)*+"
    rb"(?!(?:return|else|new|case|typedef|struct|union|enum|class)\b)"
    rb"\w[\w:<>,]{0,120}[ \t*&]++([A-Z][A-Z0-9_]{3,}+[ \t]++)(?=~?\w[\w:~]{0,120}[ \t]?\()"
    rb"|\)[ \t]*+(?:const\b[ \t]*+)?([A-Z][A-Z0-9]*+_[A-Z0-9_]++(?:\([^()\n]{0,200}\))?)(?=\s*+\{)",
    re.MULTILINE,
)
# A component is blank to the grammar outside its scripts. There it is cut at blank lines.
_OUTSIDE_SCRIPTS = re.compile(
    rb"(?s)((?:\A|</script\s{0,9}>).*?"
    rb"(?:<script\b(?:[^>\"']{1,200}+|\"[^\"]{0,200}+\"|'[^']{0,200}+'){0,10}+>|\Z))"
)
# The scanner of tree-sitter-yaml 0.7 overruns its buffer at 254 levels, each at least a column deep.
_TOO_DEEP = re.compile(rb"^[ \t?:-]{200}", re.MULTILINE)

_CPP_FILES = ".cpp .cc .cxx .c++ .hpp .hh .hxx .h++ .h .ipp .inl .cu .cuh"  # and headers of C
_SHELL_FILES = ".sh .bash .zsh .ksh .bats .bashrc .bash_profile .profile .zshrc"
_RUBY_FILES = ".rb .rake .gemspec .ru rakefile gemfile guardfile vagrantfile"
_SUMMARY = DocComment("/// ", "/// <summary>", "/// </summary>")
_DOCSTRING = DocComment(opening='"""', closing='"""', inside=True)
_typescript = from_package("tree_sitter_typescript", "language_typescript")

LANGUAGES = (
    _language(
        "bash", _SHELL_FILES, from_package("tree_sitter_bash"), DocComment("# "), keywords={"importer": "source ."}
    ),
    _language("c", ".c", from_package("tree_sitter_c"), STARRED, blanked=_MACROS),
    _language("cpp", _CPP_FILES, from_package("tree_sitter_cpp"), STARRED, blanked=_MACROS),
    _language("csharp", ".cs", from_package("tree_sitter_c_sharp"), _SUMMARY),
    _language("go", ".go", from_package("tree_sitter_go"), DocComment("// ")),
    _language("java", ".java", from_package("tree_sitter_java"), STARRED),
    _language("javascript", ".js .jsx .mjs .cjs", from_package("tree_sitter_javascript"), STARRED),
    _language(
        "json", ".json .jsonc .json5 .webmanifest", from_package("tree_sitter_json"), piece_bytes=DATA_PIECE_BYTES
    ),
    _language("kotlin", ".kt .kts", from_package("tree_sitter_kotlin"), STARRED),
    _language("lua", ".lua", from_package("tree_sitter_lua"), DocComment("--- "), keywords={"importer": "require"}),
    _language("markdown", ".md .markdown .mdx", from_package("tree_sitter_markdown")),
    _language(
        "php",
        ".php .phtml .inc",
        from_package("tree_sitter_php", "language_php"),
        STARRED,
        keywords={"define": "define"},
    ),
    _language("python", ".py .pyi .pyw .ipynb", from_package("tree_sitter_python"), _DOCSTRING),
    _language(
        "ruby",
        _RUBY_FILES,
        from_package("tree_sitter_ruby"),
        DocComment("# "),
        keywords={
            "importer": "require require_relative load autoload",
            "accessor": "attr_reader attr_writer attr_accessor",
            "definer": "alias_method define_method scope belongs_to has_one has_many",
        },
    ),
    _language("rust", ".rs", from_package("tree_sitter_rust"), SLASHES),
    _language("scala", ".scala .sc .sbt", from_package("tree_sitter_scala"), STARRED),
    _language("swift", ".swift", from_package("tree_sitter_swift"), SLASHES),
    _language("toml", ".toml", from_package("tree_sitter_toml"), piece_bytes=DATA_PIECE_BYTES),
    _language("tsx", ".tsx", from_package("tree_sitter_typescript", "language_tsx"), STARRED, queries="typescript"),
    _language("typescript", ".ts .mts .cts", _typescript, STARRED),
    _language("component", ".vue .svelte", _typescript, STARRED, blanked=_OUTSIDE_SCRIPTS),
    _language("yaml", ".yaml .yml", from_package("tree_sitter_yaml"), piece_bytes=DATA_PIECE_BYTES, unsafe=_TOO_DEEP),
    _packed(
        "elixir",
        ".ex .exs",
        None,
        module="defmodule defprotocol defimpl",
        function="def defp defmacro defmacrop defguard defguardp defdelegate",
        test="test describe",
        importer="import alias use require",
    ),
    _packed("haskell", ".hs"),
    _packed("zig", ".zig", SLASHES, importer="@import"),
    _packed("dart", ".dart", SLASHES),
    _packed(
        "r",
        ".r .rprofile",
        DocComment("#' "),
        dotted=True,
        class_call="setClass",
        class_value="R6Class setRefClass ggproto",
        function="setGeneric setMethod setValidity test_that",
        list="list",
        importer="library require source",
    ),
    _packed("julia", ".jl"),
    _packed("ocaml", ".ml"),
    _packed("ocaml_interface", ".mli"),
    _packed("perl", ".pl .pm .t .psgi cpanfile", DocComment("# ")),
    _packed("elm", ".elm"),
    _packed("sql", ".sql .ddl .pgsql", DocComment("-- ")),
    _packed("html", ".html .htm .xhtml", None, id="id", h1="h1", h2="h2", h3="h3", h4="h4", h5="h5", h6="h6"),
    _packed("css", ".css"),
    _packed("scss", ".scss"),
    _packed("hcl", ".tf .tfvars .hcl"),
    _packed("dockerfile", ".dockerfile dockerfile containerfile"),
    _packed("proto", ".proto", DocComment("// ")),
    _packed("make", ".mk .mak makefile gnumakefile"),
    _packed(
        "cmake",
        ".cmake cmakelists.txt",
        option="option",
        target="add_executable add_library add_custom_target",
        importer="include find_package",
    ),
)

"""Languages whose grammars come from one package, tree-sitter-language-pack: docs/decisions/0019-grammars.md.

`queries/NAME.scm` has the three queries of each.
"""

import re
from dataclasses import replace
from pathlib import Path

from winnow_engine.index.languages import typescript
from winnow_engine.index.languages.base import SLASHES, DocComment, Language, from_pack

_QUERIES = Path(__file__).parent / "queries"
_PARTS = re.compile(r"^; (?:statements|references)\n", re.MULTILINE)


def _packed(name: str, files: str, documentation: DocComment | None = None, **keywords: str) -> Language:
    """A language with the suffixes and names of its files, and for captures of its queries the words they may have."""
    outline, statements, references = _PARTS.split((_QUERIES / f"{name}.scm").read_text(encoding="utf-8"))
    return Language(
        name=name,
        suffixes=tuple(one for one in files.split() if one.startswith(".")),
        filenames=tuple(one for one in files.split() if not one.startswith(".")),
        grammar=from_pack(name),
        outline=outline,
        statements=statements,
        references=references,
        keywords={capture: words.split() for capture, words in keywords.items()},
        documentation=documentation,
        packed=True,
    )


# A component is blank to the grammar outside its scripts. There it is cut at blank lines.
_OUTSIDE_SCRIPTS = re.compile(
    rb"(?s)((?:\A|</script\s{0,9}>).*?"
    rb"(?:<script\b(?:[^>\"']{1,200}+|\"[^\"]{0,200}+\"|'[^']{0,200}+'){0,10}+>|\Z))"
)

LANGUAGES = (
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
        target="add_executable add_library add_custom_target",
        importer="include find_package",
    ),
    replace(
        typescript.LANGUAGE,
        name="component",
        suffixes=(".vue", ".svelte"),
        outline=typescript.OUTLINE + "(object (method_definition name: (_) @name) @definition.function)",
        blanked=_OUTSIDE_SCRIPTS,
    ),
)

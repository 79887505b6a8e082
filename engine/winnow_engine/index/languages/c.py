"""C."""

import re

from winnow_engine.index.languages.base import STARRED, Language, from_package

# A function's name sits below one declarator per `*` of its result; C++ adds the `&`.
OUTLINE = """
    (function_definition declarator:
      (function_declarator declarator: (identifier) @name)) @definition.function
    (function_definition declarator: (pointer_declarator declarator:
      (function_declarator declarator: (identifier) @name))) @definition.function
    (function_definition declarator: (pointer_declarator declarator: (pointer_declarator declarator:
      (function_declarator declarator: (identifier) @name)))) @definition.function

    (struct_specifier name: (_) @name body: (_)) @definition.class
    (union_specifier name: (_) @name body: (_)) @definition.class
    (enum_specifier name: (_) @name body: (_)) @definition.class
    (type_definition
      type: [(struct_specifier body: (_)) (union_specifier body: (_)) (enum_specifier body: (_))]
      declarator: (type_identifier) @name) @definition.class

    (type_definition declarator: (type_identifier) @name) @definition.symbol
    (preproc_def name: (_) @name) @definition.symbol
    (preproc_function_def name: (_) @name) @definition.symbol
    (translation_unit (declaration declarator:
      (init_declarator declarator: (identifier) @name)) @definition.symbol)
    (preproc_include) @import
    (comment) @leading
"""

STATEMENTS = """
    (translation_unit (_) @statement)
    (compound_statement (_) @statement)
    (field_declaration_list (_) @statement)
    (enumerator_list (_) @statement)
    (initializer_list (_) @statement)
    (preproc_ifdef (_) @statement)
    (preproc_if (_) @statement)
"""

# Macros that a grammar takes for names: `class MYLIB_API Widget : public Base {`, also with attributes; Qt's sections;
# and lines of their own before a class, namespace or section.
MACROS = re.compile(
    rb"\b(?:class|struct|union)\s+"
    rb"((?:(?:[A-Z_][A-Z0-9_]+|\w+_(?:api|export))\b(?:\s*\([^()\n]{0,200}\))?\s*"
    rb"|(?:alignas|__declspec)\s*\([^()\n]{0,200}\)\s*|\[\[[^\]\n]{0,200}\]\]\s*){1,6})"
    rb"(?!final\b)[A-Za-z_][\w:]*(?:\s*<[^;{}]{0,200}>)?\s*(?:\bfinal\s*)?(?:\{|:(?!:))"
    rb"|\b(?:public|protected|private)\s+(Q_SLOTS|slots)\b|^[ \t]*((?:Q_SIGNALS|signals)[ \t]*:)"
    rb"|^((?:[ \t]*[A-Z][A-Z0-9_]{2,}(?:\([^\n]{0,200}\))?[ \t]*\n\s*){1,9})"
    rb"(?=(?:class|struct|union|enum|template|namespace|public|protected|private)\b)",
    re.MULTILINE,
)

LANGUAGE = Language(
    name="c",
    suffixes=(".c",),
    grammar=from_package("tree_sitter_c"),
    outline=OUTLINE,
    statements=STATEMENTS,
    references="[(identifier) (type_identifier) (field_identifier)] @reference",
    documentation=STARRED,
    blanked=MACROS,
)

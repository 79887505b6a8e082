"""TypeScript."""

from winnow_engine.index.languages import javascript
from winnow_engine.index.languages.base import STARRED, Language, from_package

OUTLINE = (
    javascript.OUTLINE
    + """
    (abstract_class_declaration name: (_) @name) @definition.class
    (export_statement declaration: (abstract_class_declaration name: (_) @name)) @definition.class
    (interface_declaration name: (_) @name) @definition.class
    (export_statement declaration: (interface_declaration name: (_) @name)) @definition.class
    (enum_declaration name: (_) @name) @definition.class
    (export_statement declaration: (enum_declaration name: (_) @name)) @definition.class
    (type_alias_declaration name: (_) @name) @definition.symbol
"""
)

STATEMENTS = javascript.STATEMENTS + "(interface_body (_) @statement)"

REFERENCES = """
    [(identifier) (property_identifier) (shorthand_property_identifier) (type_identifier)] @reference
"""

LANGUAGE = Language(
    name="typescript",
    suffixes=(".ts", ".mts", ".cts"),
    grammar=from_package("tree_sitter_typescript", "language_typescript"),
    outline=OUTLINE,
    statements=STATEMENTS,
    references=REFERENCES,
    documentation=STARRED,
)

"""C++, and headers of either C or C++: this grammar reads both."""

from winnow_engine.index.languages import c
from winnow_engine.index.languages.base import STARRED, Language, from_package

_OUTLINE = """
    (function_definition declarator: (function_declarator declarator:
      [(field_identifier) (destructor_name) (operator_name)] @name)) @definition.function
    (function_definition declarator: (function_declarator declarator:
      (qualified_identifier) @name)) @definition.method
    (function_definition declarator: (pointer_declarator declarator: (function_declarator declarator:
      [(field_identifier) (operator_name) (qualified_identifier)] @name))) @definition.function
    (function_definition declarator: (reference_declarator (function_declarator declarator:
      [(identifier) (field_identifier) (operator_name) (qualified_identifier)] @name))) @definition.function

    (class_specifier name: (_) @name body: (_)) @definition.class
    (concept_definition name: (_) @name) @definition.symbol
    (alias_declaration name: (_) @name) @definition.symbol

    (template_declaration (function_definition declarator: (function_declarator declarator:
      [(identifier) (field_identifier) (operator_name)] @name))) @definition.function
    (template_declaration (function_definition declarator: (function_declarator declarator:
      (qualified_identifier) @name))) @definition.method
    (template_declaration (class_specifier name: (_) @name body: (_))) @definition.class
    (template_declaration (struct_specifier name: (_) @name body: (_))) @definition.class
    (using_declaration) @import
"""

LANGUAGE = Language(
    name="cpp",
    suffixes=(".cpp", ".cc", ".cxx", ".c++", ".hpp", ".hh", ".hxx", ".h++", ".h", ".ipp", ".inl", ".cu", ".cuh"),
    grammar=from_package("tree_sitter_cpp"),
    outline=c.OUTLINE + _OUTLINE,
    statements=c.STATEMENTS + "(declaration_list (_) @statement)",
    references="[(identifier) (type_identifier) (field_identifier) (namespace_identifier)] @reference",
    documentation=STARRED,
    blanked=c.MACROS,
)

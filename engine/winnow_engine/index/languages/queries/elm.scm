(file (value_declaration
  functionDeclarationLeft: (function_declaration_left . (_) @name)) @definition.function)
(module_declaration name: (_) @name) @definition.class
(type_declaration name: (_) @name) @definition.class
(type_alias_declaration name: (_) @name) @definition.class
(port_annotation name: (_) @name) @definition.symbol
(union_variant name: (_) @name) @definition.symbol
(import_clause) @import
[(line_comment) (block_comment) (type_annotation)] @leading

; statements
(file (_) @statement)
(let_in_expr (_) @statement)
(case_of_expr (_) @statement)
(list_expr (_) @statement)

; references
[(lower_case_identifier) (upper_case_identifier)] @reference

(function_definition (signature [
(call_expression . (_) @name)
(where_expression . (call_expression . (_) @name))
(typed_expression . (call_expression . (_) @name))
(where_expression . (typed_expression . (call_expression . (_) @name)))
])) @definition.function
(assignment . [
(call_expression . (_) @name)
(where_expression . (call_expression . (_) @name))
(typed_expression . (call_expression . (_) @name))
(where_expression . (typed_expression . (call_expression . (_) @name)))
]) @definition.function
(macro_definition (signature [
(call_expression . (_) @name)
(where_expression . (call_expression . (_) @name))
(typed_expression . (call_expression . (_) @name))
(where_expression . (typed_expression . (call_expression . (_) @name)))
])) @definition.function
(type_head [
  (identifier) @name
  (parametrized_type_expression . (identifier) @name)
  (binary_expression . [(identifier) @name (parametrized_type_expression . (identifier) @name)])
]) @definition.symbol
(struct_definition (type_head [
  (identifier) @name
  (parametrized_type_expression . (identifier) @name)
  (binary_expression . [(identifier) @name (parametrized_type_expression . (identifier) @name)])
])) @definition.class
(module_definition name: (_) @name) @definition.class
; TARGET = [(identifier) @name (typed_expression . (identifier) @name) (open_tuple (identifier) @name)]
(const_statement (assignment . TARGET)) @definition.symbol
(source_file (assignment . TARGET) @definition.symbol)
(module_definition (block (assignment . TARGET) @definition.symbol))
[(using_statement) (import_statement)] @import
(source_file (string_literal) @leading)
(block (string_literal) @leading)
[(line_comment) (block_comment)] @leading

; statements
(source_file (_) @statement)
(block (_) @statement)
(vector_expression (_) @statement)

; references
[(identifier) (macro_identifier)] @reference

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
(const_statement (assignment . (identifier) @name)) @definition.symbol
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

([
  (function_signature name: (_) @name)
  (getter_signature name: (_) @name)
  (setter_signature name: (_) @name)
] @definition.function . (function_body) @end)
((method_signature [
  (function_signature name: (_) @name)
  (getter_signature name: (_) @name)
  (setter_signature name: (_) @name)
  (constructor_signature name: (_) @name . (formal_parameter_list))
  (factory_constructor_signature (identifier) @name . (formal_parameter_list))
  (operator_signature (binary_operator) @name)
]) @definition.function . (function_body) @end)
(declaration [
  (function_signature name: (_) @name)
  (getter_signature name: (_) @name)
  (setter_signature name: (_) @name)
]) @definition.symbol
(mixin_declaration (identifier) @name) @definition.class
(class_definition name: (_) @name) @definition.class
(enum_declaration name: (_) @name) @definition.class
(extension_declaration name: (_) @name) @definition.class
(type_alias . (type_identifier) @name) @definition.symbol
(program (static_final_declaration_list (static_final_declaration (identifier) @name) @definition.symbol))
[(import_or_export) (part_directive) (part_of_directive) (library_name)] @import
[(comment) (documentation_comment) (annotation)] @leading

; statements
(program (_) @statement)
(class_body (_) @statement)
(enum_body (_) @statement)
(extension_body (_) @statement)
(block (_) @statement)
(list_literal (_) @statement)

; references
[(identifier) (type_identifier)] @reference

(method_declaration name: (_) @name body: (_)) @definition.function
(constructor_declaration name: (_) @name) @definition.function
(compact_constructor_declaration name: (_) @name) @definition.function
(class_declaration name: (_) @name) @definition.class
(interface_declaration name: (_) @name) @definition.class
(annotation_type_declaration name: (_) @name) @definition.class
(enum_declaration name: (_) @name) @definition.class
(record_declaration name: (_) @name) @definition.class
(class_body (field_declaration
  (modifiers "static") declarator: (variable_declarator name: (_) @name)) @definition.symbol)
[(package_declaration) (import_declaration)] @import
[(line_comment) (block_comment)] @leading

; statements
(program (_) @statement)
(class_body (_) @statement)
(interface_body (_) @statement)
(enum_body (_) @statement)
(block (_) @statement)
(constructor_body (_) @statement)
(switch_block (_) @statement)

; references
[(identifier) (type_identifier)] @reference

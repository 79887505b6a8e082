; inherits javascript
(abstract_class_declaration name: (_) @name) @definition.class
(export_statement declaration: (abstract_class_declaration name: (_) @name)) @definition.class
(interface_declaration name: (_) @name) @definition.class
(export_statement declaration: (interface_declaration name: (_) @name)) @definition.class
(enum_declaration name: (_) @name) @definition.class
(export_statement declaration: (enum_declaration name: (_) @name)) @definition.class
(program (_ (variable_declarator name: (identifier) @owner value: [
  (as_expression (object METHODS))
  (satisfies_expression (object METHODS))
])))
(export_statement declaration: (_ (variable_declarator name: (identifier) @owner value: [
  (as_expression (object METHODS))
  (satisfies_expression (object METHODS))
])))
(export_statement value: [
  (as_expression (object METHODS))
  (satisfies_expression (object METHODS))
])
(type_alias_declaration name: (_) @name) @definition.symbol

; statements
(interface_body (_) @statement)

; references
(type_identifier) @reference

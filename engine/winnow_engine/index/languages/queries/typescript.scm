; inherits javascript
(abstract_class_declaration name: (_) @name) @definition.class
(export_statement declaration: (abstract_class_declaration name: (_) @name)) @definition.class
(interface_declaration name: (_) @name) @definition.class
(export_statement declaration: (interface_declaration name: (_) @name)) @definition.class
(enum_declaration name: (_) @name) @definition.class
(export_statement declaration: (enum_declaration name: (_) @name)) @definition.class
; VALUES = OBJECT CALL (as_expression OBJECT) (satisfies_expression OBJECT)
(type_alias_declaration name: (_) @name) @definition.symbol
(function_signature name: (_) @name) @definition.symbol
(ambient_declaration (_ (variable_declarator name: (identifier) @name))) @definition.symbol
(internal_module name: (identifier) @name) @definition.symbol

; statements
(interface_body (_) @statement)

; references
(type_identifier) @reference

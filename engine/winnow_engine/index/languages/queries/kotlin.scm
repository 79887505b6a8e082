; `init` blocks stay with the fields around them.
(function_declaration name: (_) @name (function_body)) @definition.function
(secondary_constructor "constructor" @name) @definition.function
(class_declaration name: (_) @name) @definition.class
(object_declaration name: (_) @name) @definition.class
(companion_object "companion" @name) @definition.class
(source_file (property_declaration (variable_declaration (identifier) @name)) @definition.symbol)
(type_alias type: (identifier) @name) @definition.symbol
[(package_header) (import)] @import
[(line_comment) (block_comment)] @leading

; statements
(source_file (_) @statement)
(class_body (_) @statement)
(enum_class_body (_) @statement)
(block (_) @statement)
(when_expression (when_entry) @statement)

; references
(identifier) @reference

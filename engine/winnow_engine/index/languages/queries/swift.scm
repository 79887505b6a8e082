; An extension is a class named after the type it extends.
(function_declaration name: (simple_identifier) @name) @definition.function
(init_declaration "init" @name) @definition.function
(deinit_declaration "deinit" @name) @definition.function
(class_declaration name: (_) @name) @definition.class
(protocol_declaration name: (_) @name) @definition.class
(typealias_declaration name: (type_identifier) @name) @definition.symbol
(source_file (property_declaration
  name: (pattern bound_identifier: (simple_identifier) @name)) @definition.symbol)
(import_declaration) @import
[(comment) (multiline_comment)] @leading

; statements
(source_file (_) @statement)
(class_body (_) @statement)
(enum_class_body (_) @statement)
(protocol_body (_) @statement)
(statements (_) @statement)
(switch_statement (switch_entry) @statement)

; references
[(simple_identifier) (type_identifier)] @reference

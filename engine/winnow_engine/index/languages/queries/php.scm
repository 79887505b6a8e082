(function_definition name: (_) @name) @definition.function
(method_declaration name: (_) @name body: (_)) @definition.function
(class_declaration name: (_) @name) @definition.class
(interface_declaration name: (_) @name) @definition.class
(trait_declaration name: (_) @name) @definition.class
(enum_declaration name: (_) @name) @definition.class
(const_declaration (const_element (name) @name)) @definition.symbol
(function_call_expression function: [(name) @define (qualified_name (name) @define)] arguments: (arguments .
  (argument [(string (string_content) @name) (encapsed_string . (string_content) @name .)]))) @definition.symbol
[(namespace_use_declaration) (namespace_definition !body)] @import
(comment) @leading

; statements
(program (_) @statement)
(declaration_list (_) @statement)
(compound_statement (_) @statement)
(array_creation_expression (_) @statement)

; references
(name) @reference

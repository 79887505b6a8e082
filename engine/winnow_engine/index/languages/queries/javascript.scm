(function_declaration name: (_) @name) @definition.function
(generator_function_declaration name: (_) @name) @definition.function
(export_statement declaration: [
  (function_declaration name: (_) @name)
  (generator_function_declaration name: (_) @name)
]) @definition.function
(export_statement "default" @name value: [(function_expression) (arrow_function)]) @definition.function

(program (_
  (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)])
) @definition.function)
(export_statement declaration: (_
  (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)])
)) @definition.function
(program (expression_statement (assignment_expression
  left: (member_expression) @name right: [(arrow_function) (function_expression)]
)) @definition.function)

; functions of an object that has a name or is exported, or is an argument of the call whose result has or is
; METHODS = [(method_definition name: (_) @name) (pair key: (_) @name value: [(function_expression) (arrow_function body: (statement_block))])] @definition.method
(program (_ (variable_declarator name: (identifier) @owner value: [
  (object METHODS)
  (assignment_expression right: (object METHODS))
  (call_expression arguments: (arguments (object METHODS)))
])))
(export_statement declaration: (_ (variable_declarator name: (identifier) @owner value: [
  (object METHODS)
  (call_expression arguments: (arguments (object METHODS)))
])))
(program (expression_statement (assignment_expression left: [(identifier) (member_expression)] @owner right: [
  (object METHODS)
  (assignment_expression right: (object METHODS))
  (call_expression arguments: (arguments (object METHODS)))
])))
(export_statement value: [
  (object [METHODS
    (pair value: (object METHODS))])
  (call_expression arguments: (arguments (object [METHODS
    (pair value: (object METHODS))])))
])
(object (comment) @leading.apart)

(class_declaration name: (_) @name) @definition.class
(export_statement declaration: (class_declaration name: (_) @name)) @definition.class
(export_statement "default" @name value: (class)) @definition.class
(class_body (method_definition name: (_) @name) @definition.function)
(class_body (_
  [(property_identifier) (private_property_identifier)] @name value: [(arrow_function) (function_expression)]
) @definition.function)

(program (_ (variable_declarator name: (identifier) @name)) @definition.symbol)
(export_statement declaration: (_ (variable_declarator name: (identifier) @name))) @definition.symbol
(import_statement) @import
[(comment) (decorator)] @leading

; statements
(program (_) @statement)
(statement_block (_) @statement)
(class_body (_) @statement)
(object (_) @statement)
(array (_) @statement)

; references
[(identifier) (property_identifier) (shorthand_property_identifier)] @reference

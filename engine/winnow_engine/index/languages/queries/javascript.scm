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

; functions of an object, or of one in it, that has a name or is exported, or is an argument of what has or is, or of `new`
; METHODS = (method_definition name: (_) @name) @definition.method (pair key: (_) @name value: [(function_expression) (arrow_function body: (statement_block))]) @definition.method
; OBJECT = (object [METHODS (pair value: (object [METHODS]))])
; CALL = (_ arguments: (arguments OBJECT))
; VALUES = OBJECT CALL
(program (_ (variable_declarator name: (identifier) @owner value: [VALUES (assignment_expression right: OBJECT)])))
(export_statement declaration: (_ (variable_declarator name: (identifier) @owner value: [VALUES])))
(program (expression_statement (assignment_expression left: [(identifier) (member_expression)] @owner right: [
  VALUES
  (assignment_expression right: OBJECT)
])))
(program (expression_statement (new_expression arguments: (arguments OBJECT))))
(export_statement value: [VALUES])
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

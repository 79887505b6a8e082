(function_definition name: (identifier) @name) @definition.function
(decorated_definition (function_definition name: (identifier) @name)) @definition.function
(class_definition name: (identifier) @name) @definition.class
(decorated_definition (class_definition name: (identifier) @name)) @definition.class
; ASSIGNED = (expression_statement (assignment left: (identifier) @name)) @definition.symbol
(module ASSIGNED)
(module (if_statement [(block ASSIGNED) (else_clause (block ASSIGNED))]))
(module (try_statement [(block ASSIGNED) (except_clause (block ASSIGNED))]))
(module (type_alias_statement left: (type (identifier) @name)) @definition.symbol)
(module [(import_statement) (import_from_statement) (future_import_statement)] @import)
(comment) @leading

; statements
(module (_) @statement) (block (_) @statement)

; references
(identifier) @reference

; bodies
(function_definition body: (block) @body) (class_definition body: (block) @body)

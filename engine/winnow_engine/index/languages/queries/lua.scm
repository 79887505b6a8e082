; Methods stand outside of any class: `Stack:push` is named `Stack.push`.
(function_declaration name: [(identifier) (dot_index_expression)] @name) @definition.function
(function_declaration name: (method_index_expression) @name) @definition.method
(chunk (assignment_statement
  (variable_list name: (_) @name)
  (expression_list value: (function_definition))) @definition.function)
(chunk (variable_declaration (assignment_statement
  (variable_list name: (_) @name)
  (expression_list value: (function_definition)))) @definition.function)
(chunk (assignment_statement
  (variable_list . name: (_) @name .)
  (expression_list value: (function_call arguments: (arguments (function_definition))))) @definition.function)
(chunk (variable_declaration (assignment_statement
  (variable_list . name: (_) @name .)
  (expression_list value: (function_call arguments: (arguments (function_definition)))))) @definition.function)
(chunk (variable_declaration (assignment_statement (variable_list name: (_) @name)))
  @definition.symbol)
(chunk (variable_declaration (assignment_statement
  (expression_list value: (function_call name: (identifier) @importer)))) @import)
(chunk (assignment_statement (variable_list name: (_) @name)) @definition.symbol)
(comment) @leading

; statements
(chunk (_) @statement) (block (_) @statement) (table_constructor (field) @statement)

; references
(identifier) @reference

(subroutine_declaration_statement name: (_) @name) @definition.function
(method_declaration_statement name: (_) @name) @definition.function
(class_statement name: (_) @name) @definition.class
(package_statement name: (_) @name) @definition.class
(source_file (expression_statement (assignment_expression
  left: (variable_declaration variable: (_ (varname) @name)))) @definition.symbol)
[(use_statement) (use_version_statement) (expression_statement (require_expression))] @import
(pod) @leading.apart
(comment) @leading

; statements
(source_file (_) @statement)
(block (_) @statement)
(list_expression (_) @statement)

; references
[(bareword) (function) (method) (package)] @reference

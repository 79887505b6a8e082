(binary_operator lhs: [(identifier) (string)] @name rhs: (function_definition)) @definition.function
(call function: (identifier) @list arguments: (arguments
  (argument name: (identifier) @name value: (function_definition)) @definition.function))
(call function: (identifier) @function arguments: (arguments
  . (argument value: (string content: (_) @name)))) @definition.function
(call function: (identifier) @class_call arguments: (arguments
  . (argument value: (string content: (_) @name)))) @definition.class
(binary_operator lhs: (identifier) @name rhs: (call function: [
  (identifier) @class_value
  (namespace_operator rhs: (identifier) @class_value)
])) @definition.class
(program (binary_operator lhs: (identifier) @name operator: ["<-" "="]) @definition.symbol)
(program (call function: (identifier) @importer) @import)
(comment) @leading

; statements
(program (_) @statement)
(braced_expression (_) @statement)
(arguments (_) @statement)

; references
(identifier) @reference

; A module is a class to Winnow: its methods are called through it.
(method name: (_) @name) @definition.function
(singleton_method name: (_) @name) @definition.function
(class name: (_) @name) @definition.class
(module name: (_) @name) @definition.class
(assignment left: (constant) @name) @definition.symbol
(call method: (identifier) @accessor arguments: (argument_list (simple_symbol) @name)) @definition.symbol
(call method: (identifier) @definer arguments: (argument_list . (simple_symbol) @name)) @definition.symbol
(alias name: (_) @name) @definition.symbol
(program (call method: (identifier) @importer) @import)
(comment) @leading

; statements
(program (_) @statement)
(body_statement (_) @statement)
(block_body (_) @statement)
(then (_) @statement)
(hash (_) @statement)
(array (_) @statement)

; references
[(identifier) (constant)] @reference

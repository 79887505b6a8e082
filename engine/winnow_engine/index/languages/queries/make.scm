(rule (targets . (_) @name) (recipe)) @definition.function
(define_directive name: (_) @name) @definition.function
(makefile (variable_assignment name: (_) @name) @definition.symbol)
(include_directive) @import
(comment) @leading

; statements
(makefile (_) @statement)
(conditional (_) @statement)
(recipe (_) @statement)

; references
(word) @reference

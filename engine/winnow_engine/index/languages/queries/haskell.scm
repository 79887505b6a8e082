(function name: (_) @name) @definition.function
(function (infix operator: (_) @name)) @definition.function
(declarations (bind name: (_) @name) @definition.function)
(class_declarations (bind name: (_) @name) @definition.function)
(instance_declarations (bind name: (_) @name) @definition.function)
(data_type name: (_) @name) @definition.class
(newtype name: (_) @name) @definition.class
(class name: (_) @name) @definition.class
(instance name: (_) @owner patterns: (type_patterns . [
  [(name) (list) (tuple) (unit) (qualified)] @name
  (parens (apply constructor: [(name) (qualified)] @name))
  (parens (apply constructor: (apply constructor: [(name) (qualified)] @name)))
])) @definition.class
(type_synomym name: (_) @name) @definition.symbol
(data_constructor (_ name: (_) @name)) @definition.symbol
; A synonym's name is below one application for each of its parameters.
(pattern_synonym (equation synonym: [
  (constructor) @name
  (record constructor: (constructor) @name)
  (apply function: [(constructor) @name
    (apply function: [(constructor) @name
      (apply function: (constructor) @name)])])
])) @definition.symbol
(import) @import
[(comment) (haddock) (signature) (pragma)] @leading

; statements
(declarations (_) @statement)
(class_declarations (_) @statement)
(instance_declarations (_) @statement)
(list (_) @statement)

; references
[(name) (variable) (constructor)] @reference

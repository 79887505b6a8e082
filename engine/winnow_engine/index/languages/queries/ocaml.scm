(type_definition (type_binding name: (_) @name) @definition.class)
(module_definition (module_binding (module_name) @name module_type: (_))) @definition.class
(module_definition (module_binding (module_name) @name body: [
  (structure) (functor) (module_application) (packed_module) (typed_module_expression)
])) @definition.class
(module_type_definition (module_type_name) @name) @definition.class
(constructor_declaration (constructor_name) @name) @definition.symbol
[(external (value_name) @name) (value_specification (value_name) @name)] @definition.symbol
[(open_module) (module_definition (module_binding body: (module_path)))] @import
(value_definition (let_binding pattern: (value_name) @name [
  (parameter)
  (fun_expression)
  (function_expression)
]) @definition.function)
(class_definition (class_binding (class_name) @name)) @definition.class
(method_definition (method_name) @name) @definition.function
(compilation_unit (value_definition (let_binding pattern: (value_name) @name)) @definition.symbol)
(structure (value_definition (let_binding pattern: (value_name) @name)) @definition.symbol)
(comment) @leading

; statements
(compilation_unit (_) @statement)
(structure (_) @statement)
(signature (_) @statement)
(list_expression (_) @statement)

; references
[(value_name) (constructor_name) (module_name) (type_constructor) (field_name) (method_name)] @reference

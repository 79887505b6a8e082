; A function's name sits below one declarator per `*` of its result; C++ adds the `&`.
(function_definition declarator:
  (function_declarator declarator: (identifier) @name)) @definition.function
(function_definition declarator: (pointer_declarator declarator:
  (function_declarator declarator: (identifier) @name))) @definition.function
(function_definition declarator: (pointer_declarator declarator: (pointer_declarator declarator:
  (function_declarator declarator: (identifier) @name)))) @definition.function

(struct_specifier name: (_) @name body: (_)) @definition.class
(union_specifier name: (_) @name body: (_)) @definition.class
(enum_specifier name: (_) @name body: (_)) @definition.class
(type_definition
  type: [(struct_specifier body: (_)) (union_specifier body: (_)) (enum_specifier body: (_))]
  declarator: (type_identifier) @name) @definition.class

(type_definition declarator: (type_identifier) @name) @definition.symbol
(preproc_def name: (_) @name) @definition.symbol
(preproc_function_def name: (_) @name) @definition.symbol
(type_definition declarator: (function_declarator declarator:
  (parenthesized_declarator (pointer_declarator declarator: (_) @name)))) @definition.symbol
(enumerator name: (_) @name) @definition.symbol
; NAMED = (identifier) @name (array_declarator declarator: (identifier) @name) (pointer_declarator declarator: [(identifier) @name (array_declarator declarator: (identifier) @name)])
(translation_unit (declaration declarator: [NAMED (init_declarator declarator: [NAMED])]) @definition.symbol)
(translation_unit (preproc_ifdef (declaration declarator: [NAMED (init_declarator declarator: [NAMED])])
  @definition.symbol))
(translation_unit (preproc_if (declaration declarator: [NAMED (init_declarator declarator: [NAMED])])
  @definition.symbol))
(preproc_include) @import
(comment) @leading

; statements
(translation_unit (_) @statement)
(compound_statement (_) @statement)
(field_declaration_list (_) @statement)
(enumerator_list (_) @statement)
(initializer_list (_) @statement)
(preproc_ifdef (_) @statement)
(preproc_if (_) @statement)

; references
[(identifier) (type_identifier) (field_identifier)] @reference

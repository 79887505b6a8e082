; inherits c
; Also for headers of C.
(function_definition declarator: (function_declarator declarator:
  [(field_identifier) (destructor_name) (operator_name)] @name)) @definition.function
(function_definition declarator: (function_declarator declarator:
  (qualified_identifier) @name)) @definition.method
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator:
  [(field_identifier) (operator_name) (qualified_identifier)] @name))) @definition.function
(function_definition declarator: (reference_declarator (function_declarator declarator:
  [(identifier) (field_identifier) (operator_name) (qualified_identifier)] @name))) @definition.function

(class_specifier name: (_) @name body: (_)) @definition.class
(concept_definition name: (_) @name) @definition.symbol
(alias_declaration name: (_) @name) @definition.symbol
(declaration_list (declaration declarator: [NAMED (init_declarator declarator: [NAMED])]) @definition.symbol)

(template_declaration (function_definition declarator: (function_declarator declarator:
  [(identifier) (field_identifier) (operator_name)] @name))) @definition.function
(template_declaration (function_definition declarator: (function_declarator declarator:
  (qualified_identifier) @name))) @definition.method
(template_declaration (function_definition declarator: (pointer_declarator declarator: (function_declarator declarator:
  [(identifier) (field_identifier) (operator_name) (qualified_identifier)] @name)))) @definition.function
(template_declaration (function_definition declarator: (reference_declarator (function_declarator declarator:
  [(identifier) (field_identifier) (operator_name) (qualified_identifier)] @name)))) @definition.function
(template_declaration (friend_declaration (function_definition declarator: (function_declarator declarator:
  [(identifier) (operator_name)] @name)))) @definition.function
(template_declaration (class_specifier name: (_) @name body: (_))) @definition.class
(template_declaration (struct_specifier name: (_) @name body: (_))) @definition.class
(using_declaration) @import

; statements
(declaration_list (_) @statement)

; references
(namespace_identifier) @reference

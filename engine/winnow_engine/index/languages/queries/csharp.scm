(method_declaration name: (_) @name body: (_)) @definition.function
(local_function_statement name: (_) @name) @definition.function
(constructor_declaration name: (_) @name) @definition.function
(destructor_declaration name: (_) @name) @definition.function
(operator_declaration operator: _ @name) @definition.function
(indexer_declaration "this" @name) @definition.function
(class_declaration name: (_) @name) @definition.class
(struct_declaration name: (_) @name) @definition.class
(interface_declaration name: (_) @name) @definition.class
(enum_declaration name: (_) @name) @definition.class
(record_declaration name: (_) @name) @definition.class
(delegate_declaration name: (_) @name) @definition.symbol
(property_declaration name: (_) @name) @definition.symbol
(using_directive) @import
(comment) @leading

; statements
(compilation_unit (_) @statement)
(declaration_list (_) @statement)
(enum_member_declaration_list (_) @statement)
(block (_) @statement)
(switch_body (_) @statement)

; references
(identifier) @reference

(function_definition name: (_) @name) @definition.function
(class_definition name: (_) @name) @definition.class
(trait_definition name: (_) @name) @definition.class
(object_definition name: (_) @name) @definition.class
(enum_definition name: (_) @name) @definition.class
[(compilation_unit (val_definition pattern: (identifier) @name) @definition.symbol)
 (template_body (val_definition pattern: (identifier) @name) @definition.symbol)]
[(simple_enum_case name: (_) @name) (full_enum_case name: (_) @name)] @definition.symbol
(type_definition name: (_) @name) @definition.symbol
[(package_clause !body) (import_declaration)] @import
[(comment) (block_comment)] @leading

; statements
(compilation_unit (_) @statement)
(template_body (_) @statement)
(block (_) @statement)
(indented_block (_) @statement)
(case_block (_) @statement)

; references
[(identifier) (type_identifier)] @reference

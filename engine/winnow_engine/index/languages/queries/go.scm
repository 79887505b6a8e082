(function_declaration name: (_) @name) @definition.function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @owner
    (generic_type type: (_) @owner)
    (pointer_type (type_identifier) @owner)
    (pointer_type (generic_type type: (_) @owner))
  ]))
  name: (_) @name) @definition.method
(source_file (type_declaration
  (type_spec name: (_) @name type: [(struct_type) (interface_type)])) @definition.class)
(source_file (type_declaration [(type_spec name: (_) @name) (type_alias name: (_) @name)])
  @definition.symbol)
(source_file (const_declaration (const_spec name: (_) @name)) @definition.symbol)
(source_file (var_declaration [(var_spec name: (_) @name) (var_spec_list (var_spec name: (_) @name))])
  @definition.symbol)
(import_declaration) @import
(comment) @leading

; statements
(source_file (_) @statement)
(statement_list (_) @statement)
(literal_value (_) @statement)
(const_declaration (const_spec) @statement)
(field_declaration_list (_) @statement)

; references
[(identifier) (type_identifier) (field_identifier)] @reference

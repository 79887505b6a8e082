; An `impl` block is a class named after its type; a `mod` is not a unit of its own.
(function_item name: (_) @name) @definition.function
(macro_definition name: (_) @name) @definition.function
(struct_item name: (_) @name) @definition.class
(enum_item name: (_) @name) @definition.class
(union_item name: (_) @name) @definition.class
(trait_item name: (_) @name) @definition.class
(impl_item type: [
  (type_identifier) @name
  (scoped_type_identifier name: (_) @name)
  (generic_type type: (_) @name)
  (reference_type) @name
  (primitive_type) @name
]) @definition.class
(const_item name: (_) @name) @definition.symbol
(static_item name: (_) @name) @definition.symbol
(type_item name: (_) @name) @definition.symbol
[(use_declaration) (extern_crate_declaration)] @import
[(line_comment) (block_comment) (attribute_item)] @leading

; statements
(source_file (_) @statement)
(block (_) @statement)
(declaration_list (_) @statement)
(field_declaration_list (_) @statement)
(enum_variant_list (_) @statement)
(match_block (_) @statement)

; references
[(identifier) (type_identifier) (field_identifier)] @reference

(create_table (object_reference name: (_) @name)) @definition.class
(create_type (object_reference name: (_) @name)) @definition.class
(create_view (object_reference name: (_) @name)) @definition.function
(create_materialized_view (object_reference name: (_) @name)) @definition.function
(create_function (keyword_function) . (object_reference name: (_) @name)) @definition.function
(create_trigger (keyword_trigger) . (object_reference name: (_) @name)) @definition.function
(create_index column: (_) @name) @definition.symbol
[(comment) (marginalia)] @leading

; statements
(program (_) @statement)
(block (_) @statement)
(column_definitions (_) @statement)
(list (_) @statement)

; references
(identifier) @reference

(comment) @leading

; statements
[(table) (table_array_element) (pair)] @statement (array (_) @statement)

(rule_set (selectors . (_) @name)) @definition.function
(keyframes_statement (keyframes_name) @name) @definition.function
(import_statement) @import
(comment) @leading

; statements
(stylesheet (_) @statement)
(block (_) @statement)
(keyframe_block_list (_) @statement)

; references
[(class_name) (id_name)] @reference

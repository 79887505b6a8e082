(rule_set (selectors . (_) @name)) @definition.function
(keyframes_statement (keyframes_name) @name) @definition.function
(import_statement) @import
(mixin_statement name: (_) @name) @definition.function
(function_statement name: (_) @name) @definition.function
(stylesheet (declaration (property_name) @name) @definition.symbol)
[(use_statement) (forward_statement)] @import
[(comment) (js_comment)] @leading

; statements
(stylesheet (_) @statement)
(block (_) @statement)

; references
[(class_name) (id_name) (identifier) (variable)] @reference

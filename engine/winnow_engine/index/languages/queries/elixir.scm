(call target: (identifier) @module (arguments . [(alias) (atom)] @name) (do_block)) @definition.class
(call target: (identifier) @function (arguments . [
  (call target: (identifier) @name)
  (identifier) @name
  (binary_operator left: [(call target: (identifier) @name) (identifier) @name])
])) @definition.function
(call target: (identifier) @test (arguments . (string (quoted_content) @name)) (do_block)) @definition.function
(call target: (identifier) @importer) @import
(unary_operator operator: "@") @leading
(comment) @leading

; statements
(source (_) @statement)
(do_block (_) @statement)
(else_block (_) @statement)
(list (_) @statement)
(map_content (_) @statement)

; references
[(alias) (identifier)] @reference

(config_file (body (block (identifier) @name . (block_start)) @definition.function))
(config_file (body (block (identifier) @owner . (string_lit (template_literal) @name)
  . (block_start)) @definition.function))
(config_file (body (block . (identifier) . (string_lit (template_literal) @owner)
  . (string_lit (template_literal) @name)) @definition.function))
(comment) @leading

; statements
(body (_) @statement)
(object (_) @statement)
(tuple (_) @statement)

; references
[(identifier) (template_literal)] @reference

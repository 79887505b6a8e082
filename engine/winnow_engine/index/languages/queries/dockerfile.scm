(from_instruction (image_spec) @name .) @heading.1
(from_instruction as: (_) @name) @heading.1
(comment) @leading

; statements
(source_file (_) @statement)

; references
[(image_name) (variable)] @reference

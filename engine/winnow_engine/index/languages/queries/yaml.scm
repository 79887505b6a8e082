(comment) @leading

; statements
(document) @statement
(block_mapping_pair) @statement
(block_sequence_item) @statement

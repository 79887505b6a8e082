(attribute (attribute_name) @id (quoted_attribute_value (attribute_value) @name)) @definition.symbol
(element (start_tag (tag_name) @h1) . (text) @name) @heading.1
(element (start_tag (tag_name) @h2) . (text) @name) @heading.2
(element (start_tag (tag_name) @h3) . (text) @name) @heading.3
(element (start_tag (tag_name) @h4) . (text) @name) @heading.4
(element (start_tag (tag_name) @h5) . (text) @name) @heading.5
(element (start_tag (tag_name) @h6) . (text) @name) @heading.6
(comment) @leading

; statements
(document (_) @statement)
(element (_) @statement)

; references
(attribute_value) @reference

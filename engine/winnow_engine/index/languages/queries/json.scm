; statements
(object (_) @statement) (array (_) @statement)

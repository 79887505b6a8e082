(function_def (function_command (argument_list . (argument) @name))) @definition.function
(macro_def (macro_command (argument_list . (argument) @name))) @definition.function
(normal_command (identifier) @target (argument_list . (argument) @name)) @definition.function
(normal_command (identifier) @option (argument_list . (argument) @name)) @definition.symbol
(source_file (normal_command (identifier) @importer) @import)
[(line_comment) (bracket_comment)] @leading

; statements
(source_file (_) @statement)
(body (_) @statement)
(argument_list (_) @statement)

; references
[(identifier) (unquoted_argument)] @reference

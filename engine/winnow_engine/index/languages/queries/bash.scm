(function_definition name: (_) @name) @definition.function
(program (variable_assignment name: (variable_name) @name) @definition.symbol)
(program (declaration_command
  (variable_assignment name: (variable_name) @name)) @definition.symbol)
(program (command name: (command_name) @importer) @import)
(comment) @leading

; statements
(program (_) @statement)
(compound_statement (_) @statement)
(do_group (_) @statement)
(if_statement (_) @statement)
(case_statement (case_item) @statement)

; references
(command_name (word) @reference) (variable_name) @reference

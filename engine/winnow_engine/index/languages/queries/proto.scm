(message (message_name) @name) @definition.class
(enum (enum_name) @name) @definition.class
(service (service_name) @name) @definition.class
(rpc (rpc_name) @name) @definition.symbol
[(import) (package) (syntax)] @import
(comment) @leading

; statements
(source_file (_) @statement)
(message_body (_) @statement)
(enum_body (_) @statement)
(service (_) @statement)

; references
(identifier) @reference

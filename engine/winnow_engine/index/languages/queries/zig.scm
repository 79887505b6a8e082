(Decl (FnProto function: (_) @name) (Block)) @definition.function
(Decl (FnProto function: (_) @name)) @definition.symbol
(TestDecl . (_) @name) @definition.function
(Decl (VarDecl variable_type_function: (_) @name
  (ErrorUnionExpr (SuffixExpr (ContainerDecl))))) @definition.class
(Decl (VarDecl variable_type_function: (_) @name)) @definition.symbol
(Decl (VarDecl (ErrorUnionExpr (SuffixExpr (BUILTINIDENTIFIER) @importer)))) @import
[(line_comment) (doc_comment)] @leading

; statements
(source_file (_) @statement)
(ContainerDecl (_) @statement)
(Block (_) @statement)
(SwitchExpr (_) @statement)
(InitList (_) @statement)

; references
(IDENTIFIER) @reference

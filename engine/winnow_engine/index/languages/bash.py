"""Bash and other Bourne shells."""

from winnow_engine.index.languages.base import DocComment, Language, from_package

LANGUAGE = Language(
    name="bash",
    suffixes=(".sh", ".bash", ".zsh", ".ksh", ".bats"),
    filenames=(".bashrc", ".bash_profile", ".profile", ".zshrc"),
    grammar=from_package("tree_sitter_bash"),
    keywords={"importer": {"source", "."}},
    outline="""
        (function_definition name: (_) @name) @definition.function
        (program (variable_assignment name: (variable_name) @name) @definition.symbol)
        (program (declaration_command
          (variable_assignment name: (variable_name) @name)) @definition.symbol)
        (program (command name: (command_name) @importer) @import)
        (comment) @leading
    """,
    statements="""
        (program (_) @statement)
        (compound_statement (_) @statement)
        (do_group (_) @statement)
        (if_statement (_) @statement)
        (case_statement (case_item) @statement)
    """,
    references="(command_name (word) @reference) (variable_name) @reference",
    documentation=DocComment("# "),
)

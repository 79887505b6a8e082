"""Ruby. A module is a class to Winnow: its methods are called through it."""

from winnow_engine.index.languages.base import DocComment, Language, from_package

LANGUAGE = Language(
    name="ruby",
    suffixes=(".rb", ".rake", ".gemspec", ".ru"),
    filenames=("rakefile", "gemfile", "guardfile", "vagrantfile"),
    grammar=from_package("tree_sitter_ruby"),
    keywords={"importer": {"require", "require_relative", "load", "autoload"}},
    outline="""
        (method name: (_) @name) @definition.function
        (singleton_method name: (_) @name) @definition.function
        (class name: (_) @name) @definition.class
        (module name: (_) @name) @definition.class
        (assignment left: (constant) @name) @definition.symbol
        (program (call method: (identifier) @importer) @import)
        (comment) @leading
    """,
    statements="""
        (program (_) @statement)
        (body_statement (_) @statement)
        (block_body (_) @statement)
        (then (_) @statement)
        (hash (_) @statement)
        (array (_) @statement)
    """,
    references="[(identifier) (constant)] @reference",
    documentation=DocComment("# "),
)

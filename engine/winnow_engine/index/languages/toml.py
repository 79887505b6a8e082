"""TOML."""

from winnow_engine.index.languages.base import DATA_PIECE_BYTES, Language, from_package

LANGUAGE = Language(
    name="toml",
    suffixes=(".toml",),
    grammar=from_package("tree_sitter_toml"),
    outline="(comment) @leading",
    statements="[(table) (table_array_element) (pair)] @statement (array (_) @statement)",
    piece_bytes=DATA_PIECE_BYTES,
)

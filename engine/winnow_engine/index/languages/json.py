"""JSON, with or without comments."""

from winnow_engine.index.languages.base import DATA_PIECE_BYTES, Language, from_package

LANGUAGE = Language(
    name="json",
    suffixes=(".json", ".jsonc", ".json5", ".webmanifest"),
    grammar=from_package("tree_sitter_json"),
    statements="(object (_) @statement) (array (_) @statement)",
    piece_bytes=DATA_PIECE_BYTES,
)

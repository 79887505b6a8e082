"""YAML."""

import re

from winnow_engine.index.languages.base import DATA_PIECE_BYTES, Language, from_package

LANGUAGE = Language(
    name="yaml",
    suffixes=(".yaml", ".yml"),
    grammar=from_package("tree_sitter_yaml"),
    # The scanner of tree-sitter-yaml 0.7 overruns its buffer at 254 levels, each at least a column deep.
    unsafe=re.compile(rb"^[ \t?:-]{200}", re.MULTILINE),
    outline="(comment) @leading",
    statements="""
        (document) @statement
        (block_mapping_pair) @statement
        (block_sequence_item) @statement
    """,
    piece_bytes=DATA_PIECE_BYTES,
)

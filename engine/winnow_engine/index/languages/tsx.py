"""TypeScript with JSX."""

from winnow_engine.index.languages import typescript
from winnow_engine.index.languages.base import STARRED, Language, from_package

LANGUAGE = Language(
    name="tsx",
    suffixes=(".tsx",),
    grammar=from_package("tree_sitter_typescript", "language_tsx"),
    outline=typescript.OUTLINE,
    statements=typescript.STATEMENTS,
    references=typescript.REFERENCES,
    documentation=STARRED,
)

"""Languages: `table` has them all, `base` describes one, `queries` has what is searched for in their trees.

CONTRIBUTING.md says how to add one. To see the nodes that queries can capture, print the tree of a file, here Zig's:

    python -c "import sys, tree_sitter_language_pack as pack
    print(pack.get_parser('zig').parse(sys.stdin.buffer.read()).root_node)" < file.zig
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from winnow_engine.index.languages.base import Language
from winnow_engine.index.languages.table import LANGUAGES

_BY_NAME = {name: language for language in LANGUAGES for name in (*language.suffixes, *language.filenames)}
_BY_PROGRAM = {language.name: language for language in LANGUAGES}
_PROGRAM = re.compile(rb"#!\s*\S{0,99}/(?:env\s+(?:-\S+\s+)*)?([A-Za-z]+)")  # python of `#!/usr/bin/env -S python3 -u`
_ALSO = {"sh": "bash", "dash": "bash", "ksh": "bash", "zsh": "bash", "node": "javascript", "rscript": "r"}


def for_path(path: str) -> Language | None:
    """The language of a file by its name or suffix, ignoring case; None if no language has it."""
    name = PurePosixPath(path).name.lower()
    return _BY_NAME.get(name) or _BY_NAME.get(PurePosixPath(name).suffix) or _BY_NAME.get(name.partition(".")[0])


def for_file(path: str, data: bytes) -> Language | None:
    """The language of a file by its path, else, without a suffix, by the program that its first line says to run."""
    found = for_path(path)
    program = None if found or PurePosixPath(path).suffix else _PROGRAM.match(data)
    name = program[1].decode().lower() if program else ""
    return found or _BY_PROGRAM.get(_ALSO.get(name, name))

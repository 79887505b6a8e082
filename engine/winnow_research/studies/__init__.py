"""Single questions about Winnow's speed or quality, a module each: `python -m winnow_research.studies.NAME --help`.

Each prints its figures as JSON and writes them to results/NAME.json. docs/performance.md, docs/relevance.md and
docs/training.md have the answers.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from winnow_lsp.process import prepare

prepare()  # before NumPy is imported, as in `winnow` itself


def study_parser(file: str, doc: str | None) -> argparse.ArgumentParser:
    """A parser for the study in `file`, which its docstring describes."""
    return argparse.ArgumentParser(
        prog=f"python -m {__name__}.{Path(file).stem}",
        description=doc,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )

"""The sum by which adapters are compared: what the profile alone and all features keep, hand-written questions twice.

usage: python tests/bench/offline/rule.py RELEVANCE.json...

The files are what `winnow bench relevance --json` printed for the development split, and for the task real of the
calibration split (measure.sh, step judge). It adds up the shares of questions kept whole within 2K, 4K and 8K tokens.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

_METHODS = ("profile", "Winnow")
_COUNTS = {"describe": 1, "cursor": 1, "usage": 1, "doc": 1, "multi": 1, "real": 2}
_BUDGETS = ("2000", "4000", "8000")


def rule(figures: Iterable[Mapping[str, Any]]) -> float:
    """The sum over figures as JSON has them, without those of single languages and of other methods and tasks."""
    summed = (one for one in figures if one["group"] == "all" and one["row"] in _METHODS and one["family"] in _COUNTS)
    return sum(_COUNTS[one["family"]] * one["kept"][budget][0] for one in summed for budget in _BUDGETS)


def main() -> None:
    """Print the sum."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=Path, nargs="+")
    documents = [json.loads(path.read_text("utf-8")) for path in parser.parse_args().documents]
    print(f"{rule(figure for document in documents for figure in document['figures']):.3f}")


if __name__ == "__main__":
    main()

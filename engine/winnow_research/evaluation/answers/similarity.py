"""How similar two pieces of code are: BLEU (Papineni et al. 2002) over their tokens, with one reference.

N-grams longer than one are smoothed by adding one (Lin and Och 2004).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

_TOKEN = re.compile(r"\w+|[^\w\s]")
_LONGEST = 4


def bleu(candidate: str, reference: str) -> float:
    """Similarity from 0 (nothing in common) to 1 (the same tokens). White space does not count."""
    found, wanted = _TOKEN.findall(candidate), _TOKEN.findall(reference)
    if not found or not wanted:
        return 0.0
    logs = [_log_precision(found, wanted, n) for n in range(1, _LONGEST + 1)]
    brevity = min(0.0, 1 - len(wanted) / len(found))
    return math.exp(sum(logs) / _LONGEST + brevity)


def _log_precision(found: Sequence[str], wanted: Sequence[str], n: int) -> float:
    counts, allowed = _grams(found, n), _grams(wanted, n)
    hits, smooth = (counts & allowed).total(), int(n > 1)
    return math.log((hits + smooth) / (counts.total() + smooth)) if hits + smooth else -math.inf


def _grams(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[start:] for start in range(n)), strict=False))

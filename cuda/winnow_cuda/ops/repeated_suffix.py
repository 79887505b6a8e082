"""Earlier places of a text's end in it, kept up to date token by token.

Two counts are kept for each distance d from the text's end, uint8 up to `most`: how many tokens up to the one at that
distance equal those up to the end, counted backwards, and the same with one token that may differ, which does not
count. A new token moves text and end by one, so a count depends only on the one of the same distance before.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from winnow_cuda.shapes import Int32

Counts = NDArray[np.uint8]


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _repeated_suffix(
    text: Int32, length: int, token: int, counts: Counts, most: int, gap: int, places: Int32
) -> tuple[int, int, bool]:
    exact, gapped = counts[0], counts[1]
    one, cut, cut_gapped = np.uint8(1), np.uint8(most - 1), np.uint8(most - 2)
    longest, longest_gapped = np.uint8(0), np.uint8(0)
    for distance in range(1, length + 1):
        same = np.uint8(text[length - distance] == token)
        before = min(exact[distance], cut)
        whole = np.uint8(np.uint8(before + one) * same)
        behind = np.uint8(np.uint8(min(gapped[distance], cut_gapped) + one) * same)
        skipped = max(max(whole, behind), before)
        exact[distance], gapped[distance] = whole, skipped
        longest, longest_gapped = max(longest, whole), max(longest_gapped, skipped)
    text[length] = token
    is_gapped = bool(longest_gapped >= longest + gap)
    matched, found = (longest_gapped, gapped) if is_gapped else (longest, exact)
    if matched == 0:
        return 0, 0, False
    count = 0
    for distance in range(1, length + 1):
        if found[distance] == matched:
            places[count] = length - distance + 1
            count += 1
            if count == len(places):
                break
    return count, int(matched), is_gapped


def repeated_suffix(
    text: Int32, length: int, token: int, counts: Counts, most: int, gap: int, places: Int32
) -> tuple[int, int, bool]:
    """Append `token` to text int32 [capacity], of which `length` tokens are there, and find its longest repeated end.

    `counts` uint8 [2, capacity] are those of the text before; zeros at first. Writes into `places`, int32, the places
    behind that end, the latest first, and returns how many these are, the end's length in tokens, `most` at most, and
    whether one token differs. That counts only where it makes the end longer by `gap` tokens.
    """
    found: tuple[int, int, bool] = _repeated_suffix(text, length, token, counts, most, gap, places)
    return found


def repeated_suffix_numpy(
    text: Int32, length: int, token: int, counts: Counts, most: int, gap: int, places: Int32
) -> tuple[int, int, bool]:
    """The twin of `repeated_suffix`."""
    same = (text[:length][::-1] == token).astype(np.uint8)
    exact, gapped = counts[:, 1 : length + 1]
    before = np.minimum(exact, most - 1)
    exact[:] = (before + 1) * same
    gapped[:] = np.maximum.reduce([exact, (np.minimum(gapped, most - 2) + 1) * same, before])
    text[length] = token
    longest, longest_gapped = int(exact.max(initial=0)), int(gapped.max(initial=0))
    is_gapped = bool(longest_gapped >= longest + gap)
    matched, found = (longest_gapped, gapped) if is_gapped else (longest, exact)
    behind = (length - np.flatnonzero(found == matched))[: len(places)] if matched else np.empty(0, np.int32)
    places[: len(behind)] = behind
    return len(behind), matched, is_gapped

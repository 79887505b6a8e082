"""Makes a moving picture of the frames that `person.mjs` recorded."""

import json
from itertools import pairwise
from pathlib import Path

from PIL import Image

_APART_S = 0.12
_LAST_S = 2.5


def assemble(frames: Path, to: Path) -> int:
    """Write an animated WebP of the frames in a folder, at the pace they came; the number of frames in it."""
    times = json.loads((frames / "times.json").read_text())
    kept = _apart(times)
    shown = [later - earlier for earlier, later in pairwise(times[index] for index in kept)] + [_LAST_S]
    first, *others = (Image.open(frames / f"{index:05}.png").convert("RGB") for index in kept)
    durations = [round(1000 * seconds) for seconds in shown]
    no_keys = {"kmin": len(kept), "kmax": len(kept) + 1}  # each frame holds what changed since the one before
    first.save(to, save_all=True, append_images=others, duration=durations, quality=85, method=2, **no_keys)
    return len(kept)


def _apart(times: list[float]) -> list[int]:
    """Frames some time apart, those that stayed, and the last one."""
    kept = [0]
    for index in range(1, len(times) - 1):
        stays = times[index + 1] - times[index] >= _APART_S
        if stays or times[index] - times[kept[-1]] >= _APART_S:
            kept.append(index)
    return [*kept, len(times) - 1]

"""Makes a moving picture of the frames that `person.mjs` recorded, and still ones small."""

import json
from itertools import pairwise
from pathlib import Path

from PIL import Image

_APART_S = 0.12
_LONGEST_S = 0.8  # waits are shortened
_LAST_S = 2.5


def assemble(frames: Path, to: Path) -> int:
    """Write an animated WebP of the frames in a folder; the number of frames in it."""
    times = json.loads((frames / "times.json").read_text())
    kept = _apart(times)
    apart = pairwise(times[index] for index in kept)
    shown = [*(min(later - earlier, _LONGEST_S) for earlier, later in apart), _LAST_S]
    size = Image.open(frames / f"{kept[-1]:05}.png").size  # the first frames may come before the window has its size
    first, *others = (Image.open(frames / f"{index:05}.png").convert("RGB").resize(size) for index in kept)
    durations = [round(1000 * seconds) for seconds in shown]
    no_keys = {"kmin": len(kept), "kmax": len(kept) + 1}  # each frame holds what changed since the one before
    first.save(to, save_all=True, append_images=others, duration=durations, quality=85, method=2, **no_keys)
    return len(kept)


def shrink(pictures: Path) -> None:
    """Have 256 colours in each picture of a folder, which shows no difference and halves its size."""
    for picture in pictures.glob("*.png"):
        Image.open(picture).convert("RGB").quantize(dither=Image.Dither.NONE).save(picture, optimize=True)


def _apart(times: list[float]) -> list[int]:
    """Frames some time apart, those that stayed, and the last one."""
    kept = [0]
    for index in range(1, len(times) - 1):
        stays = times[index + 1] - times[index] >= _APART_S
        if stays or times[index] - times[kept[-1]] >= _APART_S:
            kept.append(index)
    return [*kept, len(times) - 1]

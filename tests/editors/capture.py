"""Makes a moving picture of the frames that `person.mjs` recorded, and still ones small."""

import json
from collections.abc import Iterator
from itertools import pairwise
from operator import sub
from pathlib import Path

from PIL import Image, ImageChops

_APART_S = 0.4
_LONGEST_S = 0.8  # waits are shortened
_LAST_S = 2.5
_DIFFERENT = 1500  # pixels that change by more than _VISIBLE; a caret and progress bars are fewer
_VISIBLE = 16
_COLOURS = 32


def assemble(frames: Path, to: Path) -> int:
    """Write an animated WebP of the frames in a folder; the number of frames in it."""
    times = json.loads((frames / "times.json").read_text())
    kept = dict(_different(frames, _apart(times)))
    apart = pairwise(times[index] for index in kept)
    shown = [*(min(later - earlier, _LONGEST_S) for earlier, later in apart), _LAST_S]
    first, *others = _in_few_colours(list(kept.values()))
    durations = [round(1000 * seconds) for seconds in shown]
    no_keys = {"kmin": len(kept), "kmax": len(kept) + 1}  # each frame holds what changed since the one before
    first.save(to, save_all=True, append_images=others, duration=durations, lossless=True, method=4, **no_keys)
    return len(kept)


def shrink(pictures: Path) -> None:
    """Have 256 colours in each picture of a folder, which shows no difference and halves its size."""
    for file in pictures.glob("*.png"):
        _picture(file).quantize(dither=Image.Dither.NONE).save(file, optimize=True)


def _apart(times: list[float]) -> list[int]:
    """Frames some time apart, those that stayed, and the last one."""
    kept = [0]
    for index in range(1, len(times) - 1):
        stays = times[index + 1] - times[index] >= _APART_S
        if stays or times[index] - times[kept[-1]] >= _APART_S:
            kept.append(index)
    return [*kept, len(times) - 1]


def _different(frames: Path, indices: list[int]) -> Iterator[tuple[int, Image.Image]]:
    """The frames that differ from the one before, in the size of the last one: the window gets its size late."""
    shown = Image.new("RGB", _picture(frames / f"{indices[-1]:05}.png").size)
    for index in indices:
        picture = _picture(frames / f"{index:05}.png").resize(shown.size)
        changed = ImageChops.difference(picture, shown).convert("L").histogram()[_VISIBLE:]
        if index == indices[-1] or sum(changed) >= _DIFFERENT:
            shown = picture
            yield index, picture


def _in_few_colours(pictures: list[Image.Image]) -> list[Image.Image]:
    """The pictures in the colours that are commonest in all of them, so that what stays is the same in each."""
    width, height = pictures[0].size
    together = Image.new("RGB", (width, height * len(pictures)))
    for number, picture in enumerate(pictures):
        together.paste(picture, (0, height * number))
    counted = sorted(together.getcolors(width * height * len(pictures)) or (), reverse=True)
    colours: list[tuple[int, int, int]] = []
    for _, colour in counted:
        if len(colours) < _COLOURS and all(sum(map(abs, map(sub, colour, other))) > _VISIBLE for other in colours):
            colours.append(colour)
    palette = Image.new("P", (1, 1))
    palette.putpalette([value for colour in colours for value in colour] + [*colours[0]] * (256 - len(colours)))
    return [picture.quantize(palette=palette, dither=Image.Dither.NONE).convert("RGB") for picture in pictures]


def _picture(file: Path) -> Image.Image:
    with Image.open(file) as opened:
        return opened.convert("RGB")

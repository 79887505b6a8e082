"""Records commands in a terminal as an animated WebP, at the pace they really ran.

usage: python -m winnow_research.record_terminal OUT.webp [--rows N] [--columns N] COMMAND...

Each COMMAND is one argument and is run by bash, one after the other; the prompt and the typing before it are drawn, all
else is what the command wrote. `make picture` makes that of the README. Needs pyte and Pillow,
and the DejaVu fonts (fonts-dejavu-core).
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pyte
from PIL import Image, ImageDraw, ImageFont

FONTS = Path("/usr/share/fonts/truetype/dejavu")
SIZE, LINE, EDGE = 15, 20, 14
APART_S, TYPING_S, LAST_S = 0.2, 0.03, 4.0
PAPER, INK = "#1e1e2e", "#cdd6f4"
BRAILLE = "\u2800"  # of the spinner, which no monospaced font of the family has
COLOURS = {"green": "#a6e3a1", "cyan": "#89dceb", "blue": "#89b4fa", "magenta": "#cba6f7", "brown": "#f9e2af"}


@dataclass
class Recorder:
    """A terminal, and its screen whenever that changed: `frames` are times in seconds with pictures."""

    columns: int
    rows: int
    frames: list[tuple[float, Image.Image]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.screen = pyte.Screen(self.columns, self.rows)
        self.stream = pyte.ByteStream(self.screen)
        self.font, self.spinners = (
            ImageFont.truetype(str(FONTS / name), SIZE) for name in ("DejaVuSansMono.ttf", "DejaVuSans.ttf")
        )
        self.started, self.last = time.monotonic(), -APART_S

    def show(self, text: str) -> None:
        """Draw some text as if it had been typed, a character at a time."""
        for character in text:
            self.feed(character.encode())
            time.sleep(TYPING_S)

    def feed(self, data: bytes) -> None:
        """Take output, and a picture if the last one is old enough."""
        self.stream.feed(data)
        if time.monotonic() - self.started - self.last >= APART_S:
            self.take()

    def take(self) -> None:
        """Take a picture now."""
        self.last = time.monotonic() - self.started
        self.frames.append((self.last, self._picture()))

    def run(self, command: str) -> None:
        """Run a command to its end."""
        near, far = pty.openpty()
        fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", self.rows, self.columns, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(self.columns), "LINES": str(self.rows)}
        process = subprocess.Popen(["bash", "-c", command], stdin=far, stdout=far, stderr=far, env=environment)
        os.close(far)
        for data in _output(near):
            self.feed(data)
        process.wait()
        self.take()

    def _picture(self) -> Image.Image:
        width = round(self.font.getlength("M"))
        size = (self.columns * width + 2 * EDGE, self.rows * LINE + 2 * EDGE)
        picture = Image.new("RGB", size, PAPER)
        draw = ImageDraw.Draw(picture)
        for y, row in self.screen.buffer.items():
            for x, cell in row.items():
                if cell.data.strip():
                    place = (EDGE + x * width, EDGE + y * LINE)
                    font = self.spinners if cell.data >= BRAILLE else self.font
                    draw.text(place, cell.data, font=font, fill=COLOURS.get(cell.fg, INK))
        return picture


def _output(terminal: int) -> Iterator[bytes]:
    """What is written to a terminal, until nobody holds it open."""
    while True:
        select.select([terminal], [], [])
        try:
            data = os.read(terminal, 1 << 16)
        except OSError:  # EIO: the last one has gone
            return
        if not data:
            return
        yield data


def save(frames: list[tuple[float, Image.Image]], to: Path) -> None:
    """Write the frames as an animation at the pace they came; the last one stays."""
    durations = [round(1000 * (later[0] - earlier[0])) for earlier, later in pairwise(frames)]
    first, *others = (picture for _, picture in frames)
    times = [*durations, round(1000 * LAST_S)]
    least, most = len(frames), len(frames) + 1  # so that each frame holds what changed since the one before
    first.save(to, save_all=True, append_images=others, duration=times, lossless=True, kmin=least, kmax=most)


def main() -> None:
    """Record and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--columns", type=int, default=96)
    parser.add_argument("--rows", type=int, default=24)
    parser.add_argument("commands", nargs="+", metavar="COMMAND")
    options = parser.parse_args()
    recorder = Recorder(options.columns, options.rows)
    for command in options.commands:
        recorder.show(f"$ {command}")
        recorder.feed(b"\r\n")
        recorder.run(command)
        recorder.feed(b"\r\n")
    recorder.take()
    save(recorder.frames, options.out)
    print(f"{options.out}: {len(recorder.frames)} frames, {recorder.last:.0f} s, {options.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

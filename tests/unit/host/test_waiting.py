"""The line that says what an answer waits for."""

from clock import Clock

from winnow_engine.core import Kept, Progress, Thought
from winnow_lsp.host.reply import Waiting, indexing_line, thought_line

NOTHING_READ = Progress("prefill", 0, 2_900, 0, 2_900)


def test_it_counts_down_from_what_is_expected() -> None:
    clock = Clock()
    waiting = Waiting(clock)
    waiting.kept(Kept((), 18.4))
    assert waiting.line() == "reading the prompt, about 18 s"
    waiting.read(NOTHING_READ)
    assert waiting.line() == "reading 2,900 tokens, about 18 s"
    clock.now = 5.0
    assert waiting.line() == "reading 2,900 tokens, about 13 s"
    clock.now = 30.0
    assert waiting.line() == "reading 2,900 tokens, about 1 s"


def test_nothing_is_foretold_before_anything_is_known() -> None:
    waiting = Waiting(Clock())
    waiting.kept(Kept((), None))
    assert waiting.line() == "waiting for the target"
    waiting.read(NOTHING_READ)
    assert waiting.line() == "reading 2,900 tokens"
    waiting.read(Progress("prefill", 2_900, 2_900, 2_900, 2_900, elapsed_s=20.0, left_s=0.0))
    assert waiting.line() == "reading 2,900 of 2,900 tokens"


def test_the_index_tells_its_pace_and_how_long_it_takes() -> None:
    assert indexing_line(Progress("index", 0, 1_300)) == "indexing 0 of 1,300 files"
    assert indexing_line(Progress("index", 1, 1_300, 2, 90_000, 1.2)) == "indexing 1 of 1,300 files"
    half = Progress("index", 3, 10, tokens=2_000, total_tokens=6_000, elapsed_s=2.0)
    assert indexing_line(half) == "indexing 3 of 10 files, 1,000 tokens/s, about 4 s"
    slow = Progress("index", 3, 10, tokens=2_000, total_tokens=600_000, elapsed_s=2.0)
    assert indexing_line(slow).endswith("about 10 min")


def test_a_thought_takes_the_place_of_the_countdown() -> None:
    clock = Clock()
    waiting = Waiting(clock)
    waiting.kept(Kept((), 18.4))
    clock.now = 20.0
    waiting.think()
    clock.now = 32.4
    waiting.think()
    assert waiting.line() == "thinking, 12 s"
    assert thought_line(Thought("Hm.", 12.4, 1_340)) == "thought for 12 s (1,340 tokens)"

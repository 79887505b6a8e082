"""`winnow bench soak` for half a minute: what it counts must come out, whatever the time it ran."""

from pathlib import Path

import pytest

from winnow_research.soak import soak

pytestmark = pytest.mark.real_weights

SECONDS = 30


async def test_two_busy_clients_lose_no_answer_and_the_models_go_with_them(tmp_path: Path):
    tally, samples, after = await soak(SECONDS, tmp_path)
    assert tally.wrong == []
    assert tally.sent == tally.answered + tally.cancelled + tally.vanished
    assert tally.answered > 0
    peak = max(rss for _, rss in samples)
    assert after < 0.75 * peak, f"{after:,} of {peak:,} bytes are still there"

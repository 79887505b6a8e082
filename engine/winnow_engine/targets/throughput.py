"""How fast a target reads prompts, learned from those it has read."""

from __future__ import annotations

from winnow_engine.targets.drafts.cost import nearer

SLOW_CPU_TOKENS_PER_S = 33.0
"""What a CPU is taken for until it has read something: so did two cores with AVX2 (Qwen2.5-Coder-1.5B, Q4_K_M)."""
# A prefill of fewer tokens says little of what a long one takes.
_FEWEST_TIMED = 64


class ReadingSpeed:
    """Seconds that a token of a prompt takes: `seen` here, as a running mean, None before. The owner thread learns."""

    def __init__(self) -> None:
        self.seen: float | None = None
        self._recalled: float | None = None

    @property
    def token_s(self) -> float | None:
        """As seen here, or else as an earlier process saw it; None as long as nobody knows."""
        return self.seen or self._recalled

    def learn(self, tokens: int, seconds: float) -> None:
        """So many tokens have been read in so long."""
        if tokens >= _FEWEST_TIMED:
            newest = seconds / tokens
            self.seen = newest if self.seen is None else nearer(self.seen, newest)

    def recall(self, token_s: float | None) -> None:
        """What an earlier process saw, if any did."""
        self._recalled = token_s

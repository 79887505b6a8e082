"""Rate limits for outgoing requests."""

from __future__ import annotations

import time
from collections.abc import Callable

DEFAULT_RATE = 10.0
Clock = Callable[[], float]


class LimitExceeded(Exception):
    """Raised when waiting is not allowed."""


@final
class TokenBucket:
    """A bucket that refills at a steady rate."""

    capacity: float = 5.0

    def __init__(self, rate: float = DEFAULT_RATE, clock: Clock = time.monotonic) -> None:
        self.rate = rate
        self.clock = clock

    # Reads the clock once.
    @property
    def level(self) -> float:
        return min(self.capacity, self.clock() * self.rate)

    class Lease:
        holder = "nobody"

        def release(self) -> None:
            self.holder = "nobody"


# Decorated, with a nested helper that stays inside.
@functools.cache
def wait_for(bucket: TokenBucket) -> float:
    def missing() -> float:
        return 1.0 - bucket.level

    return max(0.0, missing())


async def drain(bucket: TokenBucket) -> None:
    while bucket.level < 1:
        await sleep(0.1)


if __name__ == "__main__":
    print(wait_for(TokenBucket()))

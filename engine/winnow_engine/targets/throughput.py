"""How fast a target reads prompts, learned from those it has read."""

from __future__ import annotations

import math

# What a core is assumed to need for a token, until it has read something: so long for one of any model, and besides for
# so many parameters a second. Two cores with AVX-512 and VNNI read SmolLM2-135M at 370 to 450 tokens/s,
# Qwen2.5-Coder-0.5B (6.3e8 parameters, Q4_K_M) at 280 and 1.5B (1.78e9) at 220 to 250; that at about 110 with AVX2.
_CORE_TOKEN_S = 0.0045
_CORE_PARAMETERS_PER_S = 2.4e11
# Tokens before an average one, in the prompt that throughput is stated for.
_BEFORE = 1000
# A shorter prefill says little about a long one.
_FEWEST_TIMED = 64  # tokens
# Share of the newest duration in a running mean. Other work on the machine makes things slower, none makes them
# faster: of two that contradict each other the quicker one tells more.
_QUICKER, _SLOWER = 0.5, 0.1


class PrefillThroughput:
    """Seconds a token to read a prompt, with 1,000 before it and `attention_s` for each more.

    `measured_s` is this process's running mean, None at first, `recalled_s` an earlier process's, or None; `assumed_s`
    is a CPU's until then.
    """

    def __init__(self) -> None:
        self.measured_s: float | None = None
        self.assumed_s = math.inf
        self.attention_s = 0.0
        self.recalled_s: float | None = None

    @property
    def token_s(self) -> float | None:
        """Seconds per token: measured here, else recalled from an earlier process, else None."""
        return self.measured_s or self.recalled_s

    def assume(self, parameters: int, threads: int, attention_s: float = 0.0) -> None:
        """Guess from the model's size and the CPU's threads."""
        self.assumed_s, self.attention_s = assumed_token_s(parameters, threads), attention_s

    def learn(self, start: int, end: int, seconds: float) -> None:
        """Learn from a prefill of a prompt's tokens from `start` to `end`."""
        if end - start >= _FEWEST_TIMED:
            newest = _shifted(seconds / (end - start), -self._more_s(start, end))
            self.measured_s = newest if self.measured_s is None else running_mean(self.measured_s, newest)

    def seconds(self, start: int, end: int, token_s: float) -> float:
        """How long a prompt's tokens from `start` to `end` take where one with 1,000 before it takes `token_s`."""
        return (end - start) * _shifted(token_s, self._more_s(start, end))

    def _more_s(self, start: int, end: int) -> float:
        return self.attention_s * ((start + end) / 2 - _BEFORE)


def _shifted(token_s: float, more_s: float) -> float:
    """A token's time somewhere else in a prompt. What attention is taken to need is never more than half of it."""
    return max(token_s + more_s, token_s / 2)


def assumed_token_s(parameters: int, threads: int) -> float:
    """Seconds a token that a CPU is assumed to need for a model of that size, on so many cores."""
    return (_CORE_TOKEN_S + parameters / _CORE_PARAMETERS_PER_S) / threads


def running_mean(mean: float, newest: float) -> float:
    """A running mean of durations, one measurement later."""
    return mean + (_QUICKER if newest < mean else _SLOWER) * (newest - mean)

"""An answer, the code that it rests on, and its cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from winnow_engine.core import Citation, Finish, Sentence, Span, Thought
from winnow_engine.selection.ranking import Selection, SelectionStats
from winnow_engine.targets.base import Generation

_NEAREST = 3  # places named where nothing answers


def without_code(nearest: Sequence[Span]) -> Generation:
    """What is said instead of an answer where no code was kept: the target would make one up."""
    best = sorted(nearest, key=lambda span: -span.score)[:_NEAREST]
    places = "".join(f"\n- `{span.path}:{span.start_line}` {span.name}".rstrip() for span in best)
    said = "Nothing in the workspace seems to answer this." + (f" The nearest code:\n{places}" if best else "")
    return Generation(said, "stop", 0, 0, 0.0, None, 0, 0.0)


@dataclass(frozen=True, slots=True)
class Stats:
    """What an answer cost.

    `stages` are seconds of wall clock by name, in order; they add up to `ttft_s`. `prefill_tokens_per_s` is how fast
    the target was taken to read when the budget was chosen, None if that was no concern. `places` says where drafter
    and target live, `target_host` where the prompt was sent to if it left this machine.
    """

    selection: SelectionStats
    generation: Generation
    stages: Mapping[str, float]
    ttft_s: float
    places: Mapping[str, str]
    target_host: str | None
    prefill_tokens_per_s: float | None


@dataclass(frozen=True, slots=True)
class Answer:
    """The target's answer, what of the workspace it saw, the code behind its sentences, and all lines it cites."""

    selection: Selection
    stats: Stats
    sentences: tuple[Sentence, ...]
    citations: tuple[Citation, ...]

    @property
    def text(self) -> str:
        """What the target said."""
        return self.stats.generation.text

    @property
    def finish(self) -> Finish:
        """Why the target stopped."""
        return self.stats.generation.finish

    @property
    def spans(self) -> tuple[Span, ...]:
        """The spans that the target saw."""
        return self.selection.spans

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know about the selection, and of how the answer came about."""
        return (*self.selection.notices, *self.stats.generation.notices)

    @property
    def thought(self) -> Thought | None:
        """What the target thought before it answered."""
        return self.stats.generation.thought

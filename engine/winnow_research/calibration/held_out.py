"""Whether a calibration may be used: judged by questions about repositories that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from winnow_engine.errors import ProfileError
from winnow_engine.selection.fusion_weights import FusionWeights
from winnow_research.calibration.fusion import mean_reciprocal_rank, refused
from winnow_research.calibration.observations import Observation

_MOST_REFUSED = 0.02  # of the questions that have an answer


@dataclass(frozen=True)
class HeldOut:
    """The same questions as the new profile and the one in its place see them, and questions about small workspaces."""

    new: Sequence[Observation]
    old: Sequence[Observation]
    small: Sequence[Observation]

    def check(self, fitted: FusionWeights, before: FusionWeights) -> tuple[FusionWeights, str]:
        """The weights to use, and what they come to in a sentence.

        ProfileError where the new profile ranks answers lower than the old one with its weights `before`. Without what
        tells whether there is an answer, where that refuses too many questions that have one.
        """
        rank, former = mean_reciprocal_rank(self.new, fitted), mean_reciprocal_rank(self.old, before)
        said = f"{rank:.3f}, {former:.3f} without it (mean reciprocal rank, {len(self.new):,} questions held out)"
        if rank < former:
            raise ProfileError(f"the profile finds answers less well than what Winnow has: {said}; nothing is written")
        asked = [one for one in (*self.new, *self.small) if len(one.golds)]
        lost = sum(refused(one, fitted) for one in asked)
        if lost <= _MOST_REFUSED * len(asked):
            return fitted, f"held out: {said}"
        return replace(fitted, answerability={}), (
            f"held out: {said}; no question will be refused for want of an answer, because {lost} of {len(asked)} that "
            "have one would be"
        )

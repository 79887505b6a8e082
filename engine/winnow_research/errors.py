"""What can go wrong in the research alone."""

from winnow_engine.errors import WinnowError


class EvaluationError(WinnowError):
    """A repository of the evaluation cannot be had, or its data contradict each other."""


class TrainingError(WinnowError):
    """The adapter cannot be trained: what it is trained on may not be used, or PyTorch is missing."""

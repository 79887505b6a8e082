"""llama.cpp as the drafter's vocabulary and the target both use it: its models, their tokens, its log, not printed."""

from winnow_engine.llama.log import silence

silence()

"""llama.cpp as the drafter's vocabulary and the target both use it: its log, its models, their tokens."""

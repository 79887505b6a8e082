"""The drafter: a small causal LM whose first layers score the units of a workspace for a question."""

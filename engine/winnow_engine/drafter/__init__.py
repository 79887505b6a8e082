"""The drafter: a small causal LM whose first layers say which units of a workspace matter to a question."""

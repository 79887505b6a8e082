"""Which units of a workspace the target sees: a question is scored against every unit, then a budget is filled."""

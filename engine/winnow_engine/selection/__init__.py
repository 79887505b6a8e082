"""Selection of the units that the target sees: all are scored against the question, then a budget is filled."""

"""Questions about real histories, made by rule: why lines are so, what a change breaks, and when something changed."""

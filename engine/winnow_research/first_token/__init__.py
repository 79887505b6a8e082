"""How long the first token takes: Winnow, the target alone, and the published method, on the same questions."""

"""How long the first token takes, with Winnow and with the target alone, on the same questions."""

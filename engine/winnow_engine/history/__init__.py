"""How code came to be: the commits that shaped some lines, and the commits that some words are about."""

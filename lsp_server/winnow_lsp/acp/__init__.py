"""The Agent Client Protocol: an editor's agent panel as a client of Winnow."""

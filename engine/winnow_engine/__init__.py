"""Winnow's engine, in the order in which a question passes its rooms.

They are index, encoder, keys, selection, reranker, prompting and targets; chat is for conversations instead of
workspaces.

`winnow_engine.assistant.Assistant` is the way in. Nothing here knows an editor protocol or a terminal.
docs/architecture.md is the map.
"""

"""Winnow's engine: workspace index, drafter, selection, prompt, target, and the one facade over them.

`winnow_engine.assistant.Assistant` is the way in. Nothing here knows an editor protocol or a terminal.
"""

"""One question about Winnow's speed or quality a module, each run by `python -m winnow_research.studies.NAME`."""

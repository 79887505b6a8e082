"""No modules import each other in a circle. `lint-imports` checks packages; this checks every single module."""

from graphlib import TopologicalSorter

import grimp


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports for type checking count. `prepare` raises CycleError, which names the modules."""
    graph = grimp.build_graph("winnow_research", "winnow_lsp", "winnow_engine", "winnow_cuda", cache_dir=None)
    TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}).prepare()

"""Draft methods are found by being modules of the package; each has its own tests."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from winnow_engine.config import TargetOptions
from winnow_engine.llama.model import LlamaModel
from winnow_engine.targets import drafts

METHOD = """
from winnow_engine.targets.drafts.base import FileMethod, NoDraft

class Mine(NoDraft):
    def __init__(self, file):
        self.name, self.close = file.name, file.model.close

METHOD = FileMethod("llama", Mine)
"""


def test_every_method_is_found_and_no_two_are_chosen_by_the_same() -> None:
    found = drafts.file_methods()
    modules = Path(drafts.__file__).parent.glob("*.py")
    assert len(found) == sum("\nMETHOD = " in path.read_text() for path in modules)


@pytest.fixture
def new_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One more module in the package."""
    (tmp_path / "one_more_method.py").write_text(METHOD)
    monkeypatch.setattr(drafts, "__path__", [*drafts.__path__, str(tmp_path)])
    drafts.file_methods.cache_clear()
    yield
    drafts.file_methods.cache_clear()


@pytest.mark.usefixtures("new_module")
def test_a_new_module_is_all_that_a_new_method_takes(tiny_llama: Path, tiny_qwen3: Path) -> None:
    options = TargetOptions(n_threads=1, speculate=tiny_llama)
    with closing(LlamaModel(tiny_qwen3)) as target:
        with closing(drafts.open_draft(options, target)) as draft:
            assert draft._asked.name == tiny_llama.name
        assert drafts.draft_name(options, target) == tiny_llama.name
        with closing(drafts.open_draft(replace(options, speculate="off"), target)):
            pass

"""Ten hand-written questions about a pinned release of click: is the right unit among the spans kept?"""

from pathlib import Path

import pytest

from winnow_engine.assistant import Assistant
from winnow_engine.config import FileRules
from winnow_engine.core import Budget, Question
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.workspace import Folder, Sources
from winnow_engine.store import Store
from winnow_research.click_sources import fetch, questions
from winnow_research.evaluation.cases import Gold

pytestmark = pytest.mark.real_weights

RULES = FileRules(exclude=("CHANGES.rst", "docs", "tests"))  # minutes; the evaluation has whole repositories


def test_the_right_unit_is_kept_in_nine_of_ten(qwen_small: Path, tmp_path: Path) -> None:
    drafter, store = Drafter(qwen_small), Store(tmp_path / "index.sqlite")
    assistant, sources = Assistant(store, lambda: drafter), Sources((Folder(fetch()),), RULES)
    missed = []
    for written in questions():
        spans = assistant.select(sources, Question(written.text), Budget()).spans
        if not set(written.golds) <= {Gold(span.path, span.start_line, span.end_line) for span in spans}:
            missed.append(written.text)
    store.close()
    assert len(missed) <= 1, missed

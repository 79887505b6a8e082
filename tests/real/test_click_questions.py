"""Ten hand-written questions about a pinned release of click: is the right unit among the spans kept?"""

import json
from pathlib import Path

import pytest
from repository import QUESTIONS, fetch

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Question
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.store import Store
from winnow_engine.index.workspace import Folder, Sources

pytestmark = pytest.mark.real_weights


def test_the_right_unit_is_kept_in_nine_of_ten(qwen_small: Path, tmp_path: Path) -> None:
    drafter, store = Drafter(qwen_small), Store(tmp_path / "index.sqlite")
    assistant, sources = Assistant(store, lambda: drafter), Sources((Folder(fetch(tmp_path)),))
    missed = []
    for entry in json.loads(QUESTIONS.read_text())["questions"]:
        spans = assistant.select(sources, Question(entry["question"]), Budget()).spans
        gold = (entry["path"], entry["start_line"], entry["end_line"])
        if gold not in [(span.path, span.start_line, span.end_line) for span in spans]:
            missed.append(entry["question"])
    store.close()
    assert len(missed) <= 1, missed

"""A question in a project never seen is answered from a first look, and from everything once it is indexed."""

from pathlib import Path

import pytest

from winnow_engine.config import FileRules
from winnow_engine.core import Budget, Folder
from winnow_engine.index.workspace import Sources
from winnow_engine.question import Question

from .assistants import opened

pytestmark = pytest.mark.real_weights

FILES = FileRules(include=("heads.py", "profile.py", "segments.py", "template.py"))
SOURCES = Sources((Folder(Path(__file__).parents[2] / "engine" / "winnow_engine" / "encoder"),), FILES)
QUESTION = Question("How does generic_heads choose the heads of a drafter without a profile?")
LOOK = 1500


def test_a_first_look_finds_the_named_code_and_says_what_it_rests_on(
    smollm2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow_engine.keys.key_cache._WORTH_WAITING_S", 0)  # so little code is waited for
    with opened(tmp_path, smollm2) as assistant:
        first = assistant.select(SOURCES, QUESTION, Budget(1200, first_look_tokens=LOOK))
        assert 0.5 * LOOK < first.stats.indexed_tokens < 1.25 * LOOK < 4000 < first.stats.workspace_tokens
        assert "generic_heads" in {span.name for span in first.spans}
        assert any("index is not complete" in notice for notice in first.notices)
        workspace = assistant.index(SOURCES)
        second = assistant.select(SOURCES, QUESTION, Budget(1200, first_look_tokens=LOOK))
    assert second.stats.complete
    assert second.notices == ()
    assert second.stats.workspace_tokens == pytest.approx(first.stats.workspace_tokens, rel=0.25)
    assert "generic_heads" in {span.name for span in second.spans}
    assert len(workspace.units) > len(second.spans)

"""Workspaces of a wanted size hold what their questions need, and recall counts lines."""

from collections.abc import Callable
from pathlib import Path

import pytest

from winnow_engine.core import Span, UnitKind
from winnow_engine.question import Question
from winnow_research.evaluation.cases import Case, Gold, Scene
from winnow_research.evaluation.repositories import SourceFile, Split, repositories
from winnow_research.first_token import workspaces
from winnow_research.first_token.workspaces import KeptGold, kept_gold, sized_workspace

REPOSITORY = repositories(Split.DEVELOPMENT)[0]


def case(*golds: tuple[str, int, int]) -> Case:
    return Case("real", "r", "python", Question("why?"), tuple(Gold(*gold) for gold in golds))


@pytest.fixture
def with_scene(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def use(*cases: Case) -> None:
        files = tuple(SourceFile(f"r/{name}.py", b"word\n" * 100) for name in "abcdefgh")
        monkeypatch.setattr(workspaces, "scenes", lambda *_: iter([Scene("r", files, cases)]))

    return use


def test_needed_files_come_first_and_others_fill_up(with_scene: Callable[..., None], tmp_path: Path) -> None:
    with_scene(case(("r/g.py", 1, 2)), case(("r/h.py", 1, 1), ("r/f.py", 1, 1)))
    found = sized_workspace(REPOSITORY, 410, lambda text: len(text.split()), tmp_path)
    assert [file.path for file in found.scene.files] == ["r/a.py", "r/b.py", "r/c.py", "r/g.py"]
    assert (found.tokens, len(found.cases)) == (400, 1)
    assert {path.name for path in (tmp_path / "r").iterdir()} == {"a.py", "b.py", "c.py", "g.py"}


def test_golds_are_kept_by_lines() -> None:
    spans = [Span("r/a.py", 1, 4, 9, 0.0, UnitKind.FUNCTION), Span("r/b.py", 8, 9, 9, 0.0, UnitKind.FUNCTION)]
    assert kept_gold(case(("r/a.py", 2, 4)), spans) == KeptGold(True, 1.0)
    assert kept_gold(case(("r/a.py", 3, 6)), spans) == KeptGold(False, 0.5)
    assert kept_gold(case(("r/a.py", 1, 1), ("r/c.py", 1, 1)), spans) == KeptGold(False, 0.5)

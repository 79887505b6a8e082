"""`winnow review` where nothing changed: an empty report, for which no model is asked."""

import json
from pathlib import Path

import git_repositories as git
import pytest
from click.testing import CliRunner

from winnow_lsp.cli.review import review


@pytest.mark.parametrize("changes", [[], ["staged"], ["branch"], ["HEAD..HEAD"]])
@pytest.mark.parametrize("form", [None, "--json", "--sarif", "--message"])
def test_nothing_changed(changes: list[str], form: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("WINNOW_MODELS_DIR", str(tmp_path / "no models"))
    top = git.new(tmp_path / "project")
    git.commit(top, "one", {"a.py": "a = 1\n"})
    done = CliRunner().invoke(review, [*changes, *([form] if form else []), "-w", str(top)])
    assert done.exit_code == 0, done.output
    if form == "--sarif":
        assert json.loads(done.stdout)["runs"][0]["results"] == []
    elif form == "--json":
        told = json.loads(done.stdout)
        assert (told["files"], told["findings"], told["summary"]) == ([], [], "Nothing changed.")
    elif form == "--message":
        assert (done.stdout, "no message" in done.stderr) == ("", True)
    else:
        assert "Nothing changed." in done.stdout

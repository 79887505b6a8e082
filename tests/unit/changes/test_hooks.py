"""Changes as a hook of `git commit` sees them, with the index that git names for it."""

import sys
from pathlib import Path

import git_repositories as git
import pytest

_HOOK = """#!{python}
import sys
sys.path[:0] = {path!r}
from pathlib import Path
from winnow_engine.git.repository import open_repository
from winnow_engine.git.trees import staged_changes
with open({out!r}, "w") as out:
    for folder in (".", "inner", {other!r}):
        repository = open_repository(Path(folder))
        print(*(change.path for change in staged_changes(repository, repository.head())), file=out)
"""


@pytest.mark.parametrize("worktree", [False, True])
@pytest.mark.parametrize(
    ("arguments", "staged"), [(["-a"], "a.py b.py"), (["a.py"], "a.py"), (["-i", "a.py"], "a.py b.py"), ([], "b.py")]
)
def test_a_hook_sees_what_is_to_be_committed(worktree: bool, arguments: list[str], staged: str, tmp_path: Path) -> None:
    top, other = git.new(tmp_path / "top"), git.new(tmp_path / "other")
    git.commit(other, "one", {"x.py": "x = 1\n"})
    git.commit(top, "one", {"a.py": "a = 1\n", "b.py": "b = 1\n"})
    out = tmp_path / "out"
    hook = _HOOK.format(python=sys.executable, path=sys.path, out=str(out), other=str(other))
    git.write(top, {".git/hooks/pre-commit": hook})
    (top / ".git/hooks/pre-commit").chmod(0o755)
    if worktree:
        git.git(top, "worktree", "add", "--quiet", str(tmp_path / "second"))
        top = tmp_path / "second"
    git.commit(git.new(top / "inner"), "one", {"y.py": "y = 1\n"})
    git.write(top, {"a.py": "a = 2\n", "b.py": "b = 2\n"})
    git.git(top, "add", "b.py")
    git.git(top, "commit", "--quiet", "-m", "two", *arguments)
    assert out.read_text() == f"{staged}\n\n\n"

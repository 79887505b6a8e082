"""A new process starts from what another has kept; the workspace is always the one that is read from scratch."""

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from winnow_engine.core import Cancellation, Folder
from winnow_engine.errors import FileChangedError
from winnow_engine.index import files, stat_cache, workspace
from winnow_engine.index.indexing import record_names, restore_records
from winnow_engine.index.workspace import Sources, Workspace, begun_again, read_workspace
from winnow_engine.storage.store import Store

QUESTION = "where does `bark` parse_header of the dog, or other_name, in a.py?"


def read(root: Path, cache: Path, before: Workspace | None = None) -> Workspace:
    with closing(Store(cache / "index.sqlite")) as store:
        return read_workspace(Sources((Folder(root),)), store, Cancellation(), before)


def known(found: Workspace) -> dict[str, object]:
    """Everything that a workspace says, in a form that can be compared."""
    asked = found.symbols.asked(QUESTION)
    some = {number: 1.0 + number for number in range(0, len(found.units), 3)}
    return {
        "files": [
            (file.path, file.key, file.units_key, file.analysis, file.line_count, file.data) for file in found.files
        ],
        "lines": [file.lines.count for file in found.files],
        "units": [(file.path, unit) for file, unit in found.units],
        "starts": found.unit_starts.tolist(),
        "bytes": found.unit_bytes.tolist(),
        "kinds": found.unit_kinds.tolist(),
        "scores": [one.score(QUESTION).tolist() for one in (found.lexical, found.titles, found.paths)],
        "share": found.lexical.known_share(QUESTION),
        "asked": (sorted(asked.certain), sorted(asked.possible)),
        "named": found.symbols.definitions(asked.certain).tolist(),
        "users": found.symbols.users(asked.certain).tolist(),
        "spread": (found.symbols.used_by(some).tolist(), found.symbols.using(some).tolist()),
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    for name in "abc":
        (root / f"{name}.py").write_text(f"def {name}_bark(x):\n    return parse_header(x)\n\n\nclass Dog:\n    pass\n")
    (root / "made.py").write_bytes(b"# @generated\nc = 1\n")
    return root


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the source files that are opened."""
    names: list[str] = []
    original = files.read_regular

    def spy(path: Path | str, limit: int) -> bytes:
        names.append(Path(path).name)
        return original(path, limit)

    monkeypatch.setattr(files, "read_regular", spy)
    monkeypatch.setattr(stat_cache, "read_regular", spy)
    return names


@pytest.fixture
def settled(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of a workspace whose files have been read twice, with a tick between."""
    with monkeypatch.context() as patch:
        patch.setattr(stat_cache, "_LONGEST_TICK_S", -1.0)
        patch.setattr(workspace, "_FEW_UNITS", 0)
        read(root, tmp_path)
        read(root, tmp_path)
    return tmp_path


def test_a_new_process_opens_no_file_that_did_not_change(root: Path, settled: Path, opened: list[str]) -> None:
    found = read(root, settled)
    found.lexical.score(QUESTION)
    found.symbols.asked(QUESTION)
    assert len(found.unit_bytes) == len(found.units)
    assert opened == []
    assert found.files[0].data.startswith(b"def a_bark")
    assert opened == ["a.py"]


def test_a_file_that_changes_after_the_reading_is_refused_not_shown(root: Path, settled: Path) -> None:
    found = read(root, settled)
    (root / "a.py").write_text("def changed():\n    pass\n")
    with pytest.raises(FileChangedError, match="ask again"):
        _ = found.files[0].data
    (root / "b.py").unlink()
    with pytest.raises(FileChangedError, match="cannot be read"):
        _ = found.files[1].data


def test_what_reads_such_a_file_is_begun_again(root: Path, settled: Path) -> None:
    def work() -> bytes:
        workspace = read(root, settled)
        if not (root / "new.py").exists():
            (root / "a.py").write_text("A = 1\n")
            (root / "new.py").write_text("B = 1\n")
        return workspace.files[0].data

    assert begun_again(work, Cancellation()) == b"A = 1\n"


def test_the_clock_may_be_set_back_and_the_system_started_anew(
    root: Path, settled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = known(read(root, settled))
    monkeypatch.setattr(stat_cache.time, "monotonic", lambda: 0.0)
    (root / "b.py").write_text("def b_bark(x):\n    return parse_footer(x)\n\n\nclass Cat:\n    pass\n")
    os.utime(root / "b.py", (0, 0))
    after = known(read(root, settled))
    assert after != before
    assert after == known(read(root, settled / "scratch"))


@pytest.mark.parametrize("name", ["files-3", "tables-1"])
@pytest.mark.parametrize("damage", ["truncated", "flipped", "missing", "empty"])
def test_what_is_damaged_is_made_again(root: Path, settled: Path, name: str, damage: str) -> None:
    before = known(read(root, settled))
    (place,) = (settled / "index.workspaces").glob(f"*.{name}")
    whole = place.read_bytes()
    middle = len(whole) // 2
    changed = {
        "truncated": whole[:middle],
        "flipped": whole[:middle] + bytes([whole[middle] ^ 4]) + whole[middle + 1 :],
        "empty": b"",
    }
    place.unlink() if damage == "missing" else place.write_bytes(changed[damage])
    assert known(read(root, settled)) == before


def test_a_cache_that_cannot_be_written_is_done_without(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    caplog.set_level("INFO")
    monkeypatch.setattr("winnow_engine.index.workspace_cache.write_arrays", refuse)
    monkeypatch.setattr(workspace, "_FEW_UNITS", 0)
    found = read(root, tmp_path)
    assert "No space left" in caplog.text
    assert known(found) == known(read(root, tmp_path / "scratch", None))


def test_records_that_were_trimmed_are_made_again_for_an_index_that_is_shared(root: Path, settled: Path) -> None:
    with closing(Store(settled / "index.sqlite")) as store:
        found = read_workspace(Sources((Folder(root),)), store, Cancellation())
        ((namespace, keys),) = record_names(found.files).items()
        before = dict(store.packed(namespace, keys))
        store.trim(0)
        restore_records(found.files, store)
        assert dict(store.packed(namespace, keys)) == before


NAMES = st.sampled_from(["a.py", "b.py", "sub/c.py", "sub/d.txt", "e.md", "sub/deep/f.go", "made.py"])
TEXTS = st.sampled_from(
    [
        "",
        "x = 1\n",
        "def bark():\n    return parse_header(dog)\n\n\ndef other_name(bark):\n    return bark()\n",
        "class Dog:\n    name = 1\n\n    def bark(self):\n        return other_name(self.name)\n",
        "# bark\r\n\r\ntext of a dog\r\n\r\n## header\r\nparse it\r\n",
        "grüße\n\nzwei\n\n" * 40,
        "package f\n\nfunc ParseHeader() int {\n\treturn Bark()\n}\n",
        "# @generated\nx = 2\n",
        "no end of line",
    ]
)


class Edits(RuleBasedStateMachine):
    """Edits, renames, deletions and switches of branches, read by one process for long and by new ones in between."""

    folder: Callable[[str], Path]

    @initialize()
    def begin(self) -> None:
        self.place = self.folder("edits")
        self.root = self.place / "root"
        self.root.mkdir()
        (self.root / "always.py").write_text("def always():\n    pass\n")
        self.last: Workspace | None = None
        self.branches: list[dict[str, str]] = []

    @rule(name=NAMES, text=TEXTS)
    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())

    @rule(old=NAMES, new=NAMES)
    def rename(self, old: str, new: str) -> None:
        if (self.root / old).exists():
            (self.root / new).parent.mkdir(parents=True, exist_ok=True)
            (self.root / old).replace(self.root / new)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        (self.root / name).unlink(missing_ok=True)

    @rule()
    def commit(self) -> None:
        self.branches.append({path: (self.root / path).read_bytes().decode() for path in self._paths()})

    @precondition(lambda self: self.branches)
    @rule(data=st.data())
    def switch(self, data: st.DataObject) -> None:
        wanted = data.draw(st.sampled_from(self.branches))
        for path in self._paths():
            (self.root / path).unlink()
        for path, text in wanted.items():
            self.write(path, text)

    @rule()
    def new_process(self) -> None:
        self.last = None

    @rule()
    def same_process(self) -> None:
        self.last = read(self.root, self.place / "cache", self.last)

    @invariant()
    def as_from_scratch(self) -> None:
        self.last = read(self.root, self.place / "cache", self.last)
        scratch = read(self.root, self.folder("scratch"))
        assert known(self.last) == known(scratch)

    def _paths(self) -> list[str]:
        found = (path for path in self.root.rglob("*") if path.is_file() and path.name != "always.py")
        return [path.relative_to(self.root).as_posix() for path in found]


@pytest.mark.parametrize("few_units", [0, 5, 200])
def test_any_sequence_of_edits_gives_the_workspace_read_from_scratch(
    few_units: int, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace, "_FEW_UNITS", few_units)
    monkeypatch.setattr(stat_cache, "_SAVE_EVERY_S", -1.0)

    class Machine(Edits.TestCase):
        settings = settings(max_examples=8, stateful_step_count=10, deadline=None)

    Edits.folder = staticmethod(tmp_path_factory.mktemp)  # type: ignore[assignment]
    Machine("runTest").runTest()

"""Keys lie in packs, in the database, or both; whatever is done to files and caches, they are those of the files."""

import errno
import os
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from winnow_engine.core import Cancellation, Folder, ignore
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.file_encoder import FileKeys, FileText
from winnow_engine.index.postings import NO_PLACE
from winnow_engine.index.workspace import Sources, Workspace, read_workspace
from winnow_engine.keys import key_lookup as located_keys
from winnow_engine.keys.key_cache import KeyCache
from winnow_engine.keys.workspace_keys import WorkspaceKeys
from winnow_engine.storage.store import Store
from winnow_research.faults.counting_drafter import CountingDrafter

BANDS = 3


class FirstLetterDrafter(CountingDrafter):
    """A word's key has its length and first letter."""

    def __init__(self) -> None:
        super().__init__(lambda word: ord(word[0]), BANDS, 0.0)


class Home:
    """A workspace with its cache, which any number of processes use one after the other."""

    def __init__(self, place: Path) -> None:
        self.root, self.cache, self.drafter = place / "root", place / "index.sqlite", FirstLetterDrafter()
        self.root.mkdir(parents=True)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def read(self, store: Store) -> Workspace:
        return read_workspace(Sources((Folder(self.root),)), store, Cancellation())

    def keys(self) -> tuple[Workspace, WorkspaceKeys]:
        """The keys as a new process finds them, or makes them."""
        with closing(Store(self.cache)) as store:
            workspace = self.read(store)
            cache = KeyCache(store, cast("Drafter", self.drafter))
            return workspace, cache.of(workspace, ignore, Cancellation())

    @property
    def packs(self) -> list[Path]:
        return sorted(self.cache.parent.glob("index.packs/*/*.pack"))


def check(workspace: Workspace, keys: WorkspaceKeys) -> None:
    """That all units have their own keys, part by part and joined."""
    assert (keys.units.tolist(), keys.missing_tokens) == (list(range(len(workspace.units))), 0)
    joined = keys.joined
    for number, (file, unit) in enumerate(workspace.units):
        text = file.text_of(unit)
        words = text.split() or [text]
        assert keys.unit_tokens[number] == len(words)
        rows = joined.arrays["codes"][joined.offsets[number] : joined.offsets[number + 1]]
        assert rows.tolist() == [[len(word) % 100, ord(word[0]) % 100] for word in words]
        assert joined.arrays["pooled"][number].tolist() == [len(text) % 1000] * BANDS
    for part in keys.parts:
        for k in part.live.tolist():
            number = int(part.units[k])
            mine = part.arrays["codes"][part.offsets[k] : part.offsets[k + 1]]
            assert mine.tolist() == joined.arrays["codes"][joined.offsets[number] : joined.offsets[number + 1]].tolist()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packs as small as the workspaces of these tests."""
    monkeypatch.setattr(located_keys, "_LOOSE_TOKENS", 6)
    monkeypatch.setattr(located_keys, "_MOST_PACKS", 2)


@pytest.fixture
def home(tmp_path: Path, small: None) -> Home:
    home = Home(tmp_path)
    for name in ("a.py", "b.py", "sub/c.py"):
        home.write(name, f"def {name[-4]}(first, second):\n    return first + second\n\n\nclass Dog:\n    pass\n")
    return home


def test_what_was_encoded_is_mapped_by_the_next_process(home: Home) -> None:
    check(*home.keys())
    workspace, keys = home.keys()
    check(workspace, keys)
    assert home.drafter.encoded == ["a.py", "b.py", "sub/c.py"]
    assert len(home.packs) == len(keys.parts) == 1
    assert not keys.joined.arrays["codes"].flags.writeable
    assert keys.joined.arrays["codes"] is keys.parts[0].arrays["codes"]  # no copy


def test_an_edit_encodes_the_file_and_leaves_the_pack_as_it_is(home: Home) -> None:
    home.keys()
    home.write("b.py", "x = 1\n")
    workspace, keys = home.keys()
    check(workspace, keys)
    assert home.drafter.encoded[3:] == ["b.py"]
    pack, loose = keys.parts
    assert (pack.units == NO_PLACE).sum() == 2
    assert loose.units.tolist() == [2]


def test_many_packs_become_one_that_keeps_what_is_not_needed_now(home: Home) -> None:
    text = "def new_{}(one, two, three, four, five, six):\n    return one + two\n\n\nclass Cat:\n    pass\n"
    for number in range(6):
        home.write(f"new{number}.py", text.format(number))
        check(*home.keys())
    assert len(home.packs) <= 2
    encoded = len(home.drafter.encoded)
    (home.root / "new1.py").unlink()
    for number in range(6, 9):
        home.write(f"new{number}.py", text.format(number))
        check(*home.keys())
    home.write("new1.py", text.format(1))
    check(*home.keys())
    assert len(home.drafter.encoded) == encoded + 3


def test_two_files_alike_in_two_folders_have_their_own_keys(home: Home) -> None:
    sources = Sources((Folder(home.root, "one"), Folder(home.root.parent / "copy", "two")))
    (home.root.parent / "copy").mkdir()
    for name in ("a.py", "b.py"):
        (home.root.parent / "copy" / name).write_bytes((home.root / name).read_bytes())
    for _ in range(2):
        with closing(Store(home.cache)) as store:
            workspace = read_workspace(sources, store, Cancellation())
            cache = KeyCache(store, cast("Drafter", home.drafter))
            check(workspace, cache.of(workspace, ignore, Cancellation()))
    assert sorted(home.drafter.encoded) == ["a.py", "b.py", "sub/c.py"]


@pytest.mark.parametrize("damage", ["truncated", "flipped", "gone"])
def test_a_damaged_pack_is_encoded_again(home: Home, damage: str) -> None:
    home.keys()
    (pack,) = home.packs
    whole = pack.read_bytes()
    if damage == "gone":
        pack.unlink()
    else:
        pack.write_bytes(whole[:300] if damage == "truncated" else whole[:-1] + bytes([whole[-1] ^ 1]))
    check(*home.keys())
    assert home.drafter.encoded == 2 * ["a.py", "b.py", "sub/c.py"]


def test_a_pack_that_cannot_be_written_leaves_the_keys_where_they_are(
    home: Home, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("winnow_engine.storage.packs.write_arrays", refuse)
    check(*home.keys())
    check(*home.keys())
    assert len(home.drafter.encoded) == 3
    assert "No space left" in caplog.text


@pytest.mark.parametrize("refused", ["write_arrays", "remove"])
def test_many_packs_that_cannot_be_joined_answer_as_they_are(
    home: Home, refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = list[object]()

    def refuse(*given: object, **_: object) -> None:
        tries.append(given[0])
        assert len(tries) < 20, "it tries for ever"
        if refused == "write_arrays":  # `remove` raises nothing
            raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(located_keys, "_MOST_PACKS", 9)
    for number in range(3):
        home.write(f"new{number}.py", f"def new_{number}(one, two, three, four, five, six):\n    return one + two\n")
        home.keys()
    monkeypatch.setattr(located_keys, "_MOST_PACKS", 2)
    monkeypatch.setattr(f"winnow_engine.storage.packs.{refused}", refuse)
    check(*home.keys())
    assert tries
    assert len(home.drafter.encoded) == 6


def test_a_process_finds_what_another_one_packs_meanwhile(home: Home) -> None:
    with closing(Store(home.cache)) as store:
        names = KeyCache(store, cast("Drafter", home.drafter)).record_names(home.read(store))
        ((namespace, keys),) = names.items()
        assert store.get(namespace, keys) == {}
        home.keys()
        assert store.get(namespace, keys).keys() == set(keys)
        assert store.keys(namespace, keys) == set(keys)
        assert dict(store.packed(namespace, keys)).keys() == set(keys)


@pytest.mark.parametrize("seed", range(6))
def test_any_sequence_of_edits_gives_the_keys_of_the_files(home: Home, seed: int) -> None:
    rng = random.Random(seed)
    names = ["a.py", "b.py", "sub/c.py", "sub/d.py", "e.md"]
    texts = [
        f"def f{n}({', '.join('abcdef'[: n % 6 + 1])}):\n    return {n}\n\n\nclass C{n}:\n    pass\n" for n in range(9)
    ]
    for _ in range(15):
        steps: list[Callable[[], None]] = [
            lambda: home.write(rng.choice(names), rng.choice(texts)),
            lambda: (home.root / rng.choice(names)).unlink(missing_ok=True),
            lambda: os.utime(home.root / "a.py") if (home.root / "a.py").exists() else None,
            lambda: [pack.unlink() for pack in home.packs[:1]] and None,
        ]
        rng.choice(steps)()
        home.write("always.py", "here = 1\n")
        check(*home.keys())


class PlacingDrafter(FirstLetterDrafter):
    """A word's key also says where in the text it stands that is encoded together."""

    def encode(self, files: Iterable[FileText], *_: object) -> Iterator[FileKeys]:
        for file in files:
            (keys,) = super().encode([file])
            codes = np.array(keys.arrays["codes"])
            codes[:, 1] = np.arange(len(codes)) % 100
            yield FileKeys(keys.unit_tokens, {**keys.arrays, "codes": codes})


def functions(rng: random.Random, count: int) -> list[str]:
    return [
        f"def name_{rng.random()}(one, two):\n    return one + {'two * ' * rng.randint(1, 60)}1\n\n\n"
        for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(2))
def test_an_edit_in_a_large_file_encodes_what_is_near(home: Home, seed: int) -> None:
    rng = random.Random(seed)
    home.drafter = PlacingDrafter()
    parts = functions(rng, 300)
    home.write("large.py", "".join(parts))
    home.keys()
    for edit in range(4):
        at = rng.randrange(len(parts))
        parts[at : at + rng.randint(1, 2)] = functions(rng, rng.randint(0, 3))
        home.write("large.py", "".join(parts))
        home.drafter.encoded.clear()
        workspace, keys = home.keys()
        assert 1 <= len(home.drafter.encoded) <= 4, edit  # of 15 chunks or so
        scratch = Home.__new__(Home)
        scratch.root, scratch.cache, scratch.drafter = home.root, home.cache.parent / f"{edit}.sqlite", PlacingDrafter()
        _, fresh = scratch.keys()
        assert len(scratch.drafter.encoded) > 10
        assert keys.unit_tokens.tolist() == fresh.unit_tokens.tolist()
        for name, array in keys.joined.arrays.items():
            np.testing.assert_array_equal(array, fresh.joined.arrays[name])
    assert workspace.file_number("large.py") is not None


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads that take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_several_threads_each_get_the_keys_of_their_own_workspace(tmp_path: Path, monkeypatch, hasty: None) -> None:
    monkeypatch.setattr(located_keys, "_LOOSE_TOKENS", 20)
    monkeypatch.setattr(located_keys, "_MOST_PACKS", 2)
    homes = [Home(tmp_path / str(number)) for number in range(8)]
    for number, home in enumerate(homes):
        for file in range(5):
            home.write(f"f{file}.py", f"def name{number}_{file}():\n    return '{'word ' * (number + file)}'\n")
    with closing(Store(tmp_path / "shared.sqlite")) as store, ThreadPoolExecutor(len(homes)) as threads:
        cache = KeyCache(store, cast("Drafter", FirstLetterDrafter()))
        workspaces = [home.read(store) for home in homes]

        def work(workspace: Workspace) -> None:
            for _ in range(50):
                check(workspace, cache.of(workspace, ignore, Cancellation()))

        list(threads.map(work, workspaces))


def test_a_cache_that_is_damaged_anywhere_is_mended(home: Home) -> None:
    for name in "defghijk":
        home.write(f"{name}.py", f"{name} = 1\n")
    home.keys()
    home.write("a.py", "x = 1\n")  # beside the pack
    home.keys()
    chance = random.Random(0)
    for file in [*sorted(path for path in home.root.parent.rglob("index*/**/*") if path.is_file()), home.cache]:
        whole = file.read_bytes()
        for _ in range(20):
            damaged = bytearray(whole)
            start = chance.randrange(len(whole))
            damaged[start : start + 50] = chance.randbytes(len(damaged[start : start + 50]))
            file.write_bytes(damaged)
            check(*home.keys())

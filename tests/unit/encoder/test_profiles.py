"""Profiles as folders: what is found for a drafter's fingerprint, and what is refused."""

import errno
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, cast

import pytest

from winnow_cuda.shapes import TransformerShape
from winnow_engine.encoder import profiles as profiles_module
from winnow_engine.encoder.profiles import (
    OpenedProfile,
    ProfileFolder,
    open_profile,
    shipped_folders,
    shipped_profile,
    users_profile,
)
from winnow_engine.encoder.weights import GgufTensors
from winnow_engine.errors import ProfileError
from winnow_engine.models.registry import Kind, weight_folders
from winnow_research.calibration.profile_writing import write_profile

QWEN, SMOLLM2 = "3c51608417b386dc", "715f8be624f4b8e5"
HEADS = [{"layer": 0, "head": 1, "feature": "all", "weight": 1.0}]
FUSION: dict[str, object] = {"kinds": {}, "clues": {}}


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's directory, empty."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    (tmp_path / "winnow" / "profiles").mkdir(parents=True)
    return tmp_path / "winnow" / "profiles"


def shape(width: int, heads: int, kv_heads: int) -> TransformerShape:
    return TransformerShape(1, width, heads, kv_heads, 64, 4 * width, 1e4, 1e-6, False)


def found(name: str) -> ProfileFolder:
    folder = users_profile(name)
    assert folder is not None
    return folder


@pytest.mark.parametrize(
    ("name", "drafter", "identity"),
    [(QWEN, shape(896, 14, 2), "adapter-65459c078604bb01"), (SMOLLM2, shape(576, 9, 3), "heads-50358a04b1d65f33")],
)
def test_shipped_profiles_are_found_and_name_the_same_keys_as_ever(
    name: str, drafter: TransformerShape, identity: str
) -> None:
    shipped = shipped_profile(name)
    assert shipped is not None
    assert shipped.open(drafter).identity == identity


def test_tests_count_for_less_unless_they_or_users_are_asked_for() -> None:
    profile = shipped_profile(QWEN)
    assert profile is not None
    tests, named = (profile.fusion["kinds"][name] for name in ("tests", "named_tests"))
    assert tests["one"] < 0 < tests["one"] + tests["uses"]
    assert named["one"] > 0


def test_every_shipped_profile_is_whole() -> None:
    fingerprints: list[str] = []
    for folder in shipped_folders():
        document = json.loads((folder / "profile.json").read_text())
        fingerprints += document["fingerprints"]
        assert {file.name for file in folder.iterdir()} == {
            "profile.json",
            "card.md",
            *([document["adapter"]] if "adapter" in document else []),
        }
    assert {QWEN, SMOLLM2} <= set(fingerprints)
    assert len(set(fingerprints)) == len(fingerprints)


@pytest.fixture
def opened(profiles: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], OpenedProfile]:
    """Opens the profile of a drafter with a fingerprint."""

    def open_of(name: str) -> OpenedProfile:
        monkeypatch.setattr(profiles_module, "fingerprint", lambda _: name)
        return open_profile(cast(GgufTensors, None), shape(896, 14, 2), 24)

    return open_of


def test_an_installed_reranker_that_is_broken_is_a_notice(
    opened: Callable[[str], OpenedProfile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert opened(QWEN).notice is None
    assert opened(QWEN).reranker is not None
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "reranker.json").write_text("{}")

    def folders(kind: Kind) -> tuple[Path, ...]:
        return (tmp_path / "broken",) if kind == "reranker" else weight_folders(kind)

    monkeypatch.setattr(profiles_module, "weight_folders", folders)
    broken = opened(QWEN)
    assert broken.reranker is None
    assert "nothing is reranked" in str(broken.notice)
    assert "pip install winnow-weights-reranker" in str(broken.notice)


def test_a_profile_of_the_user_is_found_by_its_fingerprint_alone(profiles: Path) -> None:
    assert users_profile(SMOLLM2) is None
    write_profile(profiles / "any name", SMOLLM2, FUSION, HEADS)
    write_profile(profiles / "another", "0" * 16, FUSION, HEADS)
    assert found(SMOLLM2).path == profiles / "any name"
    assert found(SMOLLM2).open(shape(576, 9, 3)).layers == 1


def test_an_adapter_is_copied_into_the_folder_and_replaced(profiles: Path, tmp_path: Path) -> None:
    for text in ("first", "second"):
        (tmp_path / "trained").write_text(text)
        write_profile(profiles / "mine", QWEN, FUSION, adapter=tmp_path / "trained")
        assert found(QWEN).adapter == profiles / "mine" / "adapter.safetensors"
        assert (profiles / "mine" / "adapter.safetensors").read_text() == text
    write_profile(profiles / "mine", QWEN, {"kinds": {"maxsim": {}}}, adapter=found(QWEN).adapter)
    assert found(QWEN).fusion == {"kinds": {"maxsim": {}}}
    assert sorted(path.name for path in (profiles / "mine").iterdir()) == ["adapter.safetensors", "profile.json"]


def test_a_profile_keeps_the_reranker_of_the_one_before(profiles: Path) -> None:
    shipped = shipped_profile(QWEN)
    assert shipped is not None
    assert shipped.reranker is not None
    for before in (shipped, None):
        before = before or found(QWEN)  # written once more into its own folder
        write_profile(profiles / "mine", QWEN, FUSION, adapter=before.adapter, before=before)
        kept = found(QWEN).reranker
        assert kept is not None
        assert kept == replace(shipped.reranker, file=profiles / "mine" / "reranker.safetensors")
        assert kept.file.read_bytes() == shipped.reranker.file.read_bytes()
    write_profile(profiles / "mine", QWEN, FUSION, adapter=found(QWEN).adapter)
    assert found(QWEN).reranker is None


RERANKER: dict[str, object] = {"file": "reranker.safetensors", "weight": 0.75, "tokens": 16000}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"file": "../secret"}, "the reranker '../secret' lies outside the profile"),
        ({"file": None}, "the reranker None lies outside the profile"),
        ({"weight": "much"}, "does not say how its reranker is used"),
        ({"weight": True}, "does not say how its reranker is used"),
        ({"weight": float("nan")}, "does not say how its reranker is used"),
        ({"tokens": 0}, "does not say how its reranker is used"),
        ({"model": 7}, "does not say how its reranker is used"),
    ],
)
def test_a_reranker_that_is_not_described_is_refused(change: dict[str, object], said: str, profiles: Path) -> None:
    with pytest.raises(ProfileError, match=re.escape(said)):
        _ = ProfileFolder(profiles, {"fusion": FUSION, "reranker": {**RERANKER, **change}}).reranker
    with pytest.raises(ProfileError, match="the reranker is no object"):
        _ = ProfileFolder(profiles, {"fusion": FUSION, "reranker": "reranker.safetensors"}).reranker


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "..", "", "sub/file", "link", "a\0b", 7, ["x"]])
def test_an_adapter_outside_the_folder_is_refused(name: object, profiles: Path) -> None:
    write_profile(profiles / "mine", QWEN, FUSION, HEADS)
    (profiles / "secret").write_text("")
    (profiles / "mine" / "link").symlink_to(profiles / "secret")
    with pytest.raises(ProfileError, match="outside the profile: copy the file into it"):
        _ = ProfileFolder(profiles / "mine", {"adapter": name, "fusion": FUSION}).adapter


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("", "is not a profile"),
        ("[" * 100_000, "is not a profile"),
        ("\xff", "is not a profile"),
        ("[]", "has no fusion weights"),
        ('{"fusion": 3}', "has no fusion weights"),
        ('{"fusion": {}}', "fingerprints"),
        ('{"fusion": {}, "fingerprints": "3c51608417b386dc"}', "fingerprints"),
        ('{"fusion": {}, "fingerprints": ["3c51608417b386dc"]}', "neither an adapter nor heads"),
        ('{"fusion": {}, "fingerprints": ["3c51608417b386dc"], "heads": 3}', "not the heads"),
        ('{"fusion": {}, "fingerprints": ["3c51608417b386dc"], "adapter": "profile.json"}', "not a drafter adapter"),
        ('{"fusion": {}, "fingerprints": ["3c51608417b386dc"], "adapter": "none"}', "not a drafter adapter"),
    ],
)
def test_a_broken_folder_is_an_error_with_a_name(document: str, said: str, profiles: Path) -> None:
    (profiles / "mine").mkdir()
    (profiles / "mine" / "profile.json").write_text(document, "latin-1")
    with pytest.raises(ProfileError, match=said):
        found(QWEN).open(shape(896, 14, 2))


def test_a_directory_that_must_not_be_read_is_an_error(profiles: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: Path, pattern: str) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "glob", denied)
    with pytest.raises(ProfileError, match="cannot be read: Permission denied"):
        found(QWEN)

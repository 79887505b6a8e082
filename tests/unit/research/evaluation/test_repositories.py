"""The pins: what they promise, and what the loader refuses."""

from pathlib import Path

import pytest

from winnow_engine.errors import EvaluationError
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.repositories import Split, load, repositories

ENTRY = """[[repository]]
name = "{name}"
language = "go"
split = "{split}"
registry = "pypi"
project = "{project}"
version = "1"
sha256 = "00"
root = "{root}"
"""


def pins(tmp_path: Path, *entries: tuple[str, str, str, str]) -> Path:
    texts = [ENTRY.format(name=name, split=split, project=project, root=root) for name, split, project, root in entries]
    path = tmp_path / "pins.toml"
    path.write_text("\n".join(texts))
    (tmp_path / "histories.toml").touch()
    return path


def test_at_least_24_repositories_in_at_least_5_languages_are_split() -> None:
    everything = [one for split in Split for one in repositories(split)]
    assert len(everything) >= 24
    assert len({one.name for one in everything}) == len(everything)
    for split in Split:
        assert len({one.language for one in repositories(split)}) >= 5


def test_every_archive_is_pinned_by_its_hash() -> None:
    for split in Split:
        for one in repositories(split):
            archives = [one.archive, *(one.history.archives if one.history else ())]
            assert all(len(archive.sha256) == 64 and int(archive.sha256, 16) for archive in archives), one.name


def test_a_history_has_pairs_of_releases_and_releases_of_their_own(tmp_path: Path) -> None:
    path = pins(tmp_path, ("a", "test", "p", ""))
    (tmp_path / "histories.toml").write_text(
        '[a]\nchangelog = "CHANGES"\npairs = [["1", "2"]]\nreleases = ["0", "1"]\n'
        '[a.sha256]\n"0" = "00"\n"1" = "11"\n"2" = "22"\n'
    )
    (one,) = load(path, tmp_path / "histories.toml")
    history = one.history
    assert history is not None
    assert [(before.version, after.sha256) for before, after in history.pairs] == [("1", "22")]
    assert [archive.version for archive in history.archives] == ["1", "2", "0"]


def test_parts_of_one_archive_may_be_repositories(tmp_path: Path) -> None:
    path = pins(tmp_path, ("a", "test", "p", "core/a"), ("b", "calibration", "p", "core/ab"))
    assert [one.name for one in load(path, tmp_path / "histories.toml")] == ["a", "b"]


@pytest.mark.parametrize("roots", [("core", "core/vendor"), ("", "core"), ("core", "core")])
def test_a_file_in_two_repositories_is_refused(tmp_path: Path, roots: tuple[str, str]) -> None:
    path = pins(tmp_path, ("a", "test", "p", roots[0]), ("b", "calibration", "p", roots[1]))
    with pytest.raises(EvaluationError, match="a and b share files of p"):
        load(path, tmp_path / "histories.toml")


def test_a_name_used_twice_is_refused(tmp_path: Path) -> None:
    path = pins(tmp_path, ("a", "test", "p", ""), ("a", "calibration", "q", ""))
    with pytest.raises(EvaluationError, match="called a"):
        load(path, tmp_path / "histories.toml")


def test_no_corpus_crosses_the_split() -> None:
    mixed = (repositories(Split.TEST)[0], repositories(Split.CALIBRATION)[0])
    with pytest.raises(AssertionError, match="never crosses"):
        Corpus(mixed, len)

"""The pins: what they promise, and what the loader refuses."""

from pathlib import Path

import pytest

from winnow_research.errors import EvaluationError
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


@pytest.mark.parametrize("roots", [("core", "core/vendor"), ("", "core"), ("core", "core")])
def test_a_file_in_two_repositories_is_refused(tmp_path: Path, roots: tuple[str, str]) -> None:
    path = pins(tmp_path, ("a", "test", "p", roots[0]), ("b", "calibration", "p", roots[1]))
    with pytest.raises(EvaluationError, match="a and b share files of p"):
        load(path, tmp_path / "histories.toml")


def test_no_corpus_crosses_the_split() -> None:
    mixed = (repositories(Split.TEST)[0], repositories(Split.CALIBRATION)[0])
    with pytest.raises(AssertionError, match="never crosses"):
        Corpus(mixed, len)

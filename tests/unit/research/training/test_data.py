"""Data sets and batches: nothing held out, nothing twice, the same for the same seed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from winnow_research.errors import TrainingError
from winnow_research.evaluation.histories.clones import pins as pinned
from winnow_research.evaluation.repositories import SourceFile, Split, repositories
from winnow_research.training.batches import Epoch, Mixture, TrainingBatch
from winnow_research.training.collector import TokenisedProject, joined
from winnow_research.training.dataset import Dataset
from winnow_research.training.examples import commits
from winnow_research.training.heldout import SeenLines, seen_in
from winnow_research.training.prepare import without_copies
from winnow_research.training.projects import LICENCES, load
from winnow_research.training.written_batches import WrittenEpoch

LINES = [b"def account_%d(balance): return balance + %d\n" % (n, n) for n in range(12)]
# Public benchmarks of repositories (SWE-bench, its kin in other languages, SWE-QA, RepoQA, semble's) ask about these.
BENCHMARKED = """
abseil aiohttp astropy axios black bokeh catch2 cobra commons-lang cpp-httplib curl dask debian-redis django express
fastapi flask fmtlib gh golang-github-spf13-cobra httpx hugo jackson-core jackson-databind libcommons-lang3-java libuv
libzstd matplotlib mockito mypy nlohmann-json3 pandas poetry preact prometheus pydantic pylint pypi-ripgrep pytest
requests ripgrep ruff rust-bat rust-clap rust-fd-find scikit-learn seaborn serverless sphinx sqlfluff starlette svelte
sympy three transformers trpc trpc-server xarray zod
"""
PREFIX = np.array([1, 2], np.int32)


def file(path: str, lines: list[bytes]) -> SourceFile:
    return SourceFile(path, b"".join(lines))


def test_half_of_its_lines_make_a_file_a_copy_whatever_its_indentation() -> None:
    seen = seen_in([b"".join(LINES[:6])])
    own = [b"value_of_something_else_%d = compute_it()\n" % n for n in range(8)]
    assert seen.copied(b"".join(b"    " + line for line in LINES[:6]) + b"".join(own[:6]))
    assert not seen.copied(b"".join(LINES[:3]) + b"".join(own))
    assert not seen.copied(b"".join(LINES[:2]))


def test_what_is_held_out_and_what_was_taken_before_is_left_out() -> None:
    files = [file("held.py", LINES[:4]), file("first.py", LINES[4:8]), file("again.py", LINES[4:8])]
    kept = without_copies(files, heldout=seen_in([b"".join(LINES[:4])]), before=SeenLines())
    assert [one.path for one in kept] == ["first.py"]


def test_no_project_of_a_public_benchmark_is_pinned() -> None:
    tuned_on = [one.name for split in (Split.CALIBRATION, Split.DEVELOPMENT) for one in repositories(split)]
    assert not {*tuned_on, *(project.name for project in load())} & set(BENCHMARKED.split())


def test_every_pinned_project_has_a_licence_that_allows_its_use_and_every_language_has_several() -> None:
    projects = load()
    assert {project.licence for project in projects} <= LICENCES
    assert len({project.name for project in projects}) == len(projects)
    languages = [project.language for project in projects]
    for language in ("python", "javascript", "typescript", "go", "rust", "c", "cpp", "java"):
        assert languages.count(language) >= 15, language


def test_no_history_of_the_evaluation_or_of_a_public_benchmark_is_pinned() -> None:
    held_out = {pin.project.lower() for split in Split for pin in pinned(split)}
    names = {one.name.lower() for split in Split for one in repositories(split)}
    for name, pin in commits.pins().items():
        assert pin.project.lower() not in held_out
        assert not {name.lower(), pin.project.lower().partition("/")[2]} & (names | set(BENCHMARKED.split())), name


def part(project: str, files: int, units: int, tokens: int) -> TokenisedProject:
    """Files of equal units; unit n is asked for by one question, and by another that quotes it."""
    made = TokenisedProject(project)
    for number in range(files * units):
        ids = np.full(tokens, number + 10, np.int32)
        made.units.append(ids)
        made.bare.append(ids[: tokens // 2])
        made.twins.append(number)
        for quotes in (False, True):
            made.kinds.append("describe" if quotes else "name")
            made.questions.append(np.array([number, int(quotes)], np.int32))
            made.golds.append([number])
            made.asked_at.append(-1)
            made.quotes.append(quotes)
            made.languages.append("go")
    made.headers = [np.array([7], np.int32)] * files
    made.unit_counts = [units] * files
    return made


@pytest.fixture
def data() -> Dataset:
    return joined([part("a", 6, 4, 50), part("b", 6, 4, 50)], PREFIX)


SMALL = Mixture(tokens=600, chunk_tokens=300, questions=12, code_questions=4)


def flat(batch: TrainingBatch) -> list[bytes]:
    arrays = [batch.column_tokens, batch.positives, batch.ignored, *batch.questions, *(s.ids for s in batch.segments)]
    return [array.tobytes() for array in arrays]


def test_a_data_set_survives_its_file(data: Dataset, tmp_path: Path) -> None:
    data.save(tmp_path / "data.npz")
    data.save(tmp_path / "again.npz")
    read = Dataset.load(tmp_path / "data.npz")
    assert (read.kinds, read.languages, read.projects) == (data.kinds, data.languages, data.projects)
    assert [row.tolist() for row in map(read.golds.__getitem__, range(len(read.golds)))] == [
        data.golds[row].tolist() for row in range(len(data.golds))
    ]
    assert (tmp_path / "data.npz").read_bytes() == (tmp_path / "again.npz").read_bytes()


def test_an_epoch_shows_each_file_at_most_once_and_is_the_same_for_the_same_seed(data: Dataset) -> None:
    epoch, again, other = (Epoch(data, SMALL, seed, 0) for seed in (3, 3, 4))
    batches = [epoch.batch(index) for index in range(len(epoch))]
    files = [segment.file for batch in batches for segment in batch.segments]
    assert len(files) == len(set(files))
    assert [flat(batch) for batch in batches] == [flat(again.batch(index)) for index in range(len(again))]
    assert [flat(batch) for batch in batches] != [flat(other.batch(index)) for index in range(len(other))]


def test_a_batch_pairs_each_question_with_its_unit_and_asks_what_quotes_only_where_that_is_not_shown(
    data: Dataset,
) -> None:
    epoch = Epoch(data, SMALL, 0, 0)
    for index in range(len(epoch)):
        batch = epoch.batch(index)
        shown = np.concatenate([segment.ids for segment in batch.segments])
        ends = np.cumsum(batch.column_tokens)
        rows, columns = batch.positives
        assert sorted(set(rows.tolist())) == list(range(len(batch.questions)))
        for row, column in zip(rows, columns, strict=True):
            number, quotes = batch.questions[row]
            assert shown[ends[column] - 1] == number + 10
            assert not quotes or batch.column_tokens[column] == 25


def test_all_written_questions_are_asked_each_where_all_its_golds_are_shown() -> None:
    parts = [part(name, 3, 40, 100) for name in "ab"]  # of six segments each
    ours = [sorted({n, (7 * n + 50) % 120}) for n in range(120)]
    for one in parts:
        one.kinds[::2], one.golds[::2] = ["written"] * 120, ours
    data = joined(parts, PREFIX)
    mixture = Mixture(tokens=8000, chunk_tokens=8000, turns={"written": 100})
    epoch, again = (WrittenEpoch(data, mixture, 5, 1) for _ in range(2))
    batches, asked = [epoch.batch(index) for index in range(len(epoch))], set()
    for batch in batches:
        units = np.concatenate([one.ids for one in batch.segments])[np.cumsum(batch.column_tokens) - 1] - 10
        for row, (number, quotes) in enumerate(batch.questions):
            answers = units[batch.positives[1, batch.positives[0] == row]].tolist()
            assert sorted(answers) == ([number] if quotes else ours[number])
        numbers = [number for number, quotes in batch.questions if not quotes]
        assert 0 < len(batch.questions) - len(numbers) <= len(numbers) <= 100
        asked |= {(data.project_of[batch.segments[0].file], number) for number in numbers}
    assert len(asked) == 240
    assert [flat(batch) for batch in batches] == [flat(again.batch(index)) for index in range(len(again))]


def test_copies_of_the_answer_and_the_unit_asked_from_are_ignored(data: Dataset) -> None:
    same = replace(data, twins=np.zeros_like(data.twins), asked_at=np.full_like(data.asked_at, 1))
    batch = Epoch(same, replace(SMALL, code_questions=12), 0, 0).batch(0)
    columns = len(batch.column_tokens)
    for row in range(len(batch.questions)):
        answers = set(batch.positives[1, batch.positives[0] == row].tolist())
        ignored = set(batch.ignored[1, batch.ignored[0] == row].tolist())
        assert answers | ignored == set(range(columns))
        assert not answers & ignored


@pytest.mark.parametrize(
    ("entry", "problem"), [({"licence": "AGPL-3.0"}, "AGPL"), ({"project": "Click", "registry": "pypi"}, "evaluation")]
)
def test_a_project_of_the_evaluation_or_under_another_licence_is_refused(
    tmp_path: Path, entry: dict[str, str], problem: str
) -> None:
    values = {"name": "x", "language": "go", "licence": "MIT", "registry": "npm", "project": "x", "version": "1"}
    pins = tmp_path / "projects.toml"
    lines = [f'{key} = "{value}"' for key, value in {**values, "sha256": "0", **entry}.items()]
    pins.write_text("\n".join(["[[project]]", *lines]))
    with pytest.raises(TrainingError, match=problem):
        load(pins)

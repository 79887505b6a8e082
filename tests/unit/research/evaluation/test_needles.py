"""Tests with needles: equal for equal seeds, each needle there once, and judged by what was hidden."""

import pytest

from winnow_engine.core import Span, UnitKind
from winnow_engine.index.files import SourceFile
from winnow_engine.index.symbols import analyse
from winnow_research.evaluation.cases import Gold
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.needles import all_tests
from winnow_research.evaluation.needles.base import Spot, share_of
from winnow_research.evaluation.needles.hiding import hide
from winnow_research.evaluation.needles.materials import Material, WordLists, fitting
from winnow_research.evaluation.needles.needle import CODE_LANGUAGES, Needle
from winnow_research.evaluation.needles.run import kept_share

SPOT = Spot(tokens=5000, number=1, count=4)
SUFFIXES = {"python": "py", "javascript": "js", "typescript": "ts", "go": "go", "rust": "rs", "c": "c", "cpp": "cpp"}


@pytest.fixture
def material(corpus: Corpus) -> Material:
    letters = "abcdefghijklmnopqrstuvwxyz"
    nouns = tuple(f"{one}{other}stone" for one in letters for other in letters)
    essay = "".join(f"This is sentence {number} of an essay,\nin two lines.\n" for number in range(400)).encode()
    return Material(
        corpus, WordLists(("amber", "quiet", "tall"), nouns, ("go",)), (SourceFile("essays/one.txt", essay),)
    )


def text_of(files: tuple[SourceFile, ...], gold: Gold) -> str:
    lines = next(file.data for file in files if file.path == gold.path).decode().splitlines()
    return "\n".join(lines[gold.start_line - 1 : gold.end_line])


@pytest.mark.parametrize("name", all_tests())
def test_trials_are_equal_for_equal_seeds_and_differ_between_numbers(name: str, material: Material) -> None:
    test = all_tests()[name]
    assert test.trial(material, SPOT) == test.trial(material, SPOT)
    assert test.trial(material, SPOT).wanted != test.trial(material, Spot(5000, 2, 4)).wanted


@pytest.mark.parametrize("name", [name for name in all_tests() if "we" not in name])
def test_what_is_wanted_stands_once_and_in_the_golds(name: str, material: Material) -> None:
    trial = all_tests()[name].trial(material, SPOT)
    golds = "\n".join(text_of(trial.files, gold) for gold in trial.golds)
    whole = b"".join(file.data for file in trial.files).decode()
    assert len(set(trial.golds)) == len(trial.golds)
    for value in trial.wanted:
        assert value in golds
        assert whole.count(value) == golds.count(value)


@pytest.mark.parametrize(("kind", "needles", "asked"), [("single", 1, 1), ("multikey", 4, 1), ("multiquery", 4, 4)])
def test_the_kinds_differ_in_what_is_hidden_and_asked(kind: str, needles: int, asked: int, material: Material) -> None:
    trial = all_tests()[f"{kind}: prose in code"].trial(material, SPOT)
    whole = b"".join(file.data for file in trial.files).decode()
    assert whole.count("The magic number of the") == needles
    assert len(trial.wanted) == len(trial.golds) == asked


def test_the_context_of_a_ruler_task_leaves_room_for_question_and_answer(material: Material) -> None:
    for name in ("ruler niah_single_1", "ruler vt", "ruler niah_multikey_2"):
        (context,) = all_tests()[name].trial(material, SPOT).files
        assert 3500 < material.count(context.data.decode()) < SPOT.tokens


def test_common_words_are_ten_times_as_frequent_as_the_others(material: Material) -> None:
    trial = all_tests()["ruler cwe"].trial(material, SPOT)
    words = trial.files[0].data.decode().split()[1::2]
    counts = {word: words.count(word) for word in words}
    assert {counts[word] for word in trial.wanted} == {30}
    assert {count for word, count in counts.items() if word not in trial.wanted} == {3}


def test_the_most_frequent_coded_words_are_wanted(material: Material) -> None:
    trial = all_tests()["ruler fwe"].trial(material, SPOT)
    words = trial.files[0].data.decode().split()
    order = sorted({*words}, key=lambda word: -words.count(word))
    assert order[0] == "..."
    assert order[1:4] == list(trial.wanted)


@pytest.mark.parametrize("language", sorted(CODE_LANGUAGES))
def test_a_needle_of_code_is_a_unit_of_its_language(language: str) -> None:
    needle = "\n".join(Needle("amber-falcon", "4821733", "code").lines(language)).encode()
    (unit,) = analyse(f"a.{SUFFIXES[language]}", needle).units
    assert unit.kind is UnitKind.FUNCTION
    assert b"4821733" in needle


def test_needles_go_to_the_gap_nearest_to_their_depth() -> None:
    functions = [f"def f{number}():\n    return {number}\n\n\n" for number in range(10)]
    file = SourceFile("a.py", "".join(functions).encode())
    needles = [Needle("tall-stone", "1111111", "prose"), Needle("amber-stone", "2222222", "code")]
    (hidden,), golds = hide([file], needles, [0.0, 0.5])
    assert [text_of((hidden,), gold) for gold in golds] == ["\n".join(needle.lines("python")) for needle in needles]
    assert golds[0].start_line == 1
    assert text_of((hidden,), Gold("a.py", golds[1].end_line + 2, golds[1].end_line + 2)) == "def f5():"


def test_prose_hosts_needles_only_where_there_is_no_code() -> None:
    code, prose = SourceFile("a.go", b"func f() {\n}\n"), SourceFile("b.txt", b"One.\nTwo.\n")
    needle = Needle("tall-stone", "1111111", "prose")
    assert hide([code, prose], [needle], [1.0])[1][0].path == "a.go"
    assert hide([prose], [needle], [1.0])[1] == (Gold("b.txt", 2, 2),)


def test_a_golds_share_counts_only_whole_ones() -> None:
    def span(start: int, end: int) -> Span:
        return Span("a.py", start, end, 10, 0.0, UnitKind.FUNCTION)

    golds = [Gold("a.py", 2, 4), Gold("a.py", 8, 9)]
    assert kept_share([span(1, 3), span(4, 6), span(8, 8)], golds) == 0.5
    assert kept_share([], golds) == 0


def test_an_answer_is_judged_by_the_strings_it_has() -> None:
    assert share_of(("12", "34"), "It is 34.") == 0.5
    assert share_of(("GLTER",), "glter and others") == 1


def test_fitting_takes_the_first_lines_that_have_room() -> None:
    assert fitting(iter(["a b", "c d", "e"]), 3, lambda line: len(line.split())) == ["a b"]

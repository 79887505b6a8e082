import numpy as np
import pytest

from winnow_engine.index.names import Spellings, SymbolTable, occurring, spellings
from winnow_engine.index.postings import Places, Postings

DEFINITIONS = [("parse_args", 0), ("Parser", 1), ("run", 2), ("run", 3), ("invoke", 4), ("readHeaderLine", 5)]
REFERENCES = [("parse_args", 2), ("parse_args", 6), ("invoke", 2), ("missing", 3)]
UNITS = 7
DEFINED, USED = (Postings.built([occurring(pairs)], UNITS) for pairs in (DEFINITIONS, REFERENCES))
PLACES = [Places([(postings, np.arange(UNITS))]) for postings in (DEFINED, USED)]
TABLE = SymbolTable(*PLACES, Spellings([(DEFINED.terms, spellings(DEFINED.terms))]), UNITS)


def test_a_text_of_half_a_million_letters_is_read_in_linear_time() -> None:
    assert TABLE.asked("a_" * 250_000 + " invoke()").certain == {"invoke"}


@pytest.mark.parametrize(
    ("question", "lacks"),
    [
        ("`unheard_of` and some_other()", True),
        ("Where is KubernetesController started?", True),
        ("unheard_of and parseArgs", False),
        ("Wo wird die HTTP-Antwort geprüft?", False),
        ("\u68c0\u67e5\u6298\u6263\u5728\u54ea\u91cc", False),
        ("How is it deployed to Kubernetes?", False),
        ("How are URLs and IDs checked?", False),
        ("\u51fd\u6570parse_args\u600e\u4e48\u7528", False),
        ("\u51fd\u6570unheard_of\u600e\u4e48\u7528", True),
    ],
)
def test_code_that_is_named_and_not_there_is_told_from_words(question: str, lacks: bool) -> None:
    assert TABLE.lacks_named(question) == lacks


@pytest.mark.parametrize(
    ("word", "names"),
    [("PARSE", ["Parser", "parse_args"]), ("n", ["run", "invoke", "readHeaderLine"]), (".*", []), ("É" * 10**6, [])],
    ids=["start", "part", "pattern", "long"],
)
def test_a_word_is_completed_by_names_that_hold_it(word: str, names: list[str]) -> None:
    assert list(TABLE.completing(word)) == names


@pytest.mark.parametrize("name", ["", "Prser"])
def test_a_short_name_is_sought_in_no_other(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delattr(Spellings, "names")
    assert not TABLE.resembling(name)


def test_users_of_rare_names_count_more() -> None:
    users = TABLE.users({"parse_args", "invoke"})
    assert users[2] == pytest.approx(1 + 2**-0.5)
    assert users[6] == pytest.approx(2**-0.5)
    assert users[0] == 0


def test_units_lead_to_what_they_use_and_to_what_uses_them() -> None:
    assert TABLE.used_by({2: 0.5}).nonzero()[0].tolist() == [0, 4]
    assert TABLE.using({0: 1.0}).nonzero()[0].tolist() == [2, 6]
    assert not TABLE.used_by({}).any()

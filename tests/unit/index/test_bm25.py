import time
from unicodedata import normalize

import numpy as np
import pytest

from winnow_engine.index.bm25 import LexicalIndex, counted, stems
from winnow_engine.index.postings import NO_PLACE, Places, Postings
from winnow_engine.index.words import words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Prüfsumme der ÜbertragungsKanal, naïve ß", "prufsumme der ubertragungs kanal naive"),
        ("u\u0308ber \uff26\uff55\uff4c\uff4c \ufb01le", "uber full file"),
        ("Проверка срокаДействия ещё", "проверка срока деиствия еще"),
        ("Έλεγχος λήξης", "ελεγχοσ ληξησ"),
        ("检查订单", "检查 查订 订单"),
        ("割引のHTTPServer、値", "割引 の http server 値"),
        ("할인 만료를", "할인 만료 료를"),
        (normalize("NFD", f"の{'ガ' * 200} {'값' * 200}"), "の" + " ガガ" * 199 + " 값값" * 199),
        ("हिन्दी में / فحص الخصم", "हिन्दी में فحص الخصم"),
    ],
)
def test_words_of_all_scripts(text: str, expected: str) -> None:
    assert words(text) == expected.split()


@pytest.mark.parametrize("run", ["\u0301\u0316", "\u0f73", "\uff9e\u0301"])  # marks that Unicode sorts
def test_a_word_of_many_marks_is_read_in_linear_time(run: str) -> None:
    began = time.process_time()
    assert words(f"Naïve{run * 200_000} ﬁle")[-1] == "file"
    assert time.process_time() - began < 10


def test_a_question_finds_its_words_in_any_script() -> None:
    texts = ["Проверка срока действия скидки", "检查订单是否已付款", "割引の期限を確認する", "plain text"]
    index = LexicalIndex.of_texts(texts)
    for place, question in enumerate(["Где проверка срока скидки?", "哪里检查订单?", "期限の確認はどこ"]):
        assert index.score(question).argmax() == place
        assert index.known_share(question) > 0.2


@pytest.mark.parametrize("question", ["parsed headers", "PARSING a Header", "parses", "ヘッダーはどこ"])
def test_a_question_finds_words_in_other_forms(question: str) -> None:
    assert LexicalIndex.of_texts(["def send_order", "def parse_header", "Проверка"]).score(question).argmax() == 1


@pytest.mark.parametrize("times", [15, 150_000])  # of the longer one, Snowball's stem would take minutes
def test_a_word_of_over_100_letters_is_its_own_stem(times: int) -> None:
    assert stems("running" * times) == ["running" * times]


@pytest.mark.parametrize("wanted", [None, {"alpha"}])
def test_bm25_of_a_word_by_hand(wanted: set[str] | None) -> None:
    scores = LexicalIndex.of_texts(["alpha alpha", "beta gamma"], wanted).score("alpha beta" if wanted else "alpha")
    np.testing.assert_allclose(scores, [np.log(1 + 1.5 / 1.5) * 2 * 2.5 / (2 + 1.5), 0], rtol=1e-6)


def test_texts_of_several_tables_count_as_those_that_are_left_in_one() -> None:
    texts = ["get value", "get token", "gone value", "get value value", "", "parse header"]
    one = LexicalIndex.of_texts(text for text in texts if text != "gone value")
    parts = []
    for some, numbers in ((texts[:3], [0, 2, NO_PLACE]), (texts[3:], [1, 3, 4])):
        found, _ = counted(some)
        parts.append((Postings.built([found], len(some), by_place=False), np.array(numbers)))
    several = LexicalIndex(Places(parts), np.array([2, 3, 2, 0, 2]))
    for query in ("value", "get header", "nothing known", "gone"):
        assert several.score(query)[[0, 2, 1, 3, 4]].tolist() == one.score(query).tolist()
        assert several.known_share(query) == one.known_share(query)

import tomllib
from pathlib import Path

import pytest

from winnow_engine.index import english
from winnow_engine.index.bm25 import LexicalIndex
from winnow_engine.index.english import english_words, without_small_words
from winnow_engine.index.words import without_accents


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Wie wird die Warteschlange geleert, wenn der Benutzer abbricht?", "abort cancel clear flush queue user"),
        ("¿Dónde se comprueba la contraseña?", "check password"),
        ("Comment le délai d'un téléchargement est-il ajusté ?", "adjust delay download setting timeout"),
        ("Где проверяется срок действия кэша?", "cache check expire test validate verify"),
        ("哪里设置默认值?", "default set setting value"),
        ("キャッシュの有効期限はどこで検査されるか", "active cache check enable"),
        ("mot de passe oublié", "password"),
        ("Wer ruft diese Funktion auf?", "function"),
        ("Fehler beim Lesen der Datei", "error file read"),
        ("gestion des erreurs", "error handle"),
        ("空行在哪里处理", "empty handle line process"),
        ("アップグレードの手順", "step"),  # レート ends before a voicing mark here
        ("Wo ist der Typ, nicht das Typische?", "type"),  # a short form is a whole word
        ("containers в очереди", "queue"),  # beside another script, Latin letters are names of code
    ],
)
def test_words_of_other_languages(question: str, expected: str) -> None:
    assert english_words(question) == tuple(expected.split())


@pytest.mark.parametrize(
    "question",
    [
        "Why is the naïve approach used in the container?",
        "Where does the cache of a fallback file go when it is full?",
        "retry failed requests",
        "Explain “attention” mask → standard program…",
        "el.attribute assignment",
        "",
    ],
)
def test_english_is_left_alone(question: str) -> None:
    assert english_words(question) == ()


def test_code_is_found_by_what_it_is_called_in_english() -> None:
    index = LexicalIndex.of_texts(["def set_default(value): ...", "def parse(text): ...", "def close(socket): ..."])
    for question in ["设置默认值", "Где задаётся значение по умолчанию?", "Wo wird der Standardwert gesetzt?"]:
        assert index.score(question).argmax() == 0
        assert index.score(question)[0] > 0


def test_forms_are_written_as_questions_are_read() -> None:
    table = tomllib.loads(Path(english.__file__).with_name("english.toml").read_text("utf-8"))
    assert list(table) == sorted(table)
    for word, forms in table.items():
        assert len(set(forms.split())) == len(forms.split()) > 0, word
        latin = [form for form in forms.split() if form < "\u0370"]
        assert [without_accents(form).casefold() for form in latin] == latin, word
        assert word not in latin


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How does the retry of a failed request work?", "retry failed request work?"),
        ("what calls `is` and self.is in is_open(for)", "calls `is` self.is is_open(for)"),  # code is left as it is
        ("where clause", "where clause"),
        ("What is this for?", "What is this for?"),
    ],
)
def test_small_words_are_not_looked_for(question: str, expected: str) -> None:
    assert without_small_words(question).split() == expected.split()


def test_a_question_stays_english_without_its_small_words() -> None:
    index = LexicalIndex.of_texts(["def error(): ...", "def einsum(fehler): ..."])
    assert index.score_question("How does the einsum of a Fehler work?")[0] == 0
    assert index.score_question("Wie wird der Fehler gemeldet?")[0] > 0

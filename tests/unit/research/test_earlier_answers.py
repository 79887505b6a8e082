"""The replay of the study of earlier answers: which lookup finds an answer that was given before."""

import numpy as np
import pytest

from winnow_research.studies.earlier_answers import SEARCHED, Recorded, earlier_texts, figures, replayed

_TOKENS = np.random.default_rng(0).permutation(1000).tolist()
ANSWER, FIRST, SECOND = _TOKENS[:100], _TOKENS[100:300], _TOKENS[300:500]
THIS, ANSWERS, PROMPTS = SEARCHED


def asked(kind: str, prompt: list[int], answer: list[int], *, follows: bool = False) -> Recorded:
    return Recorded("click", kind, follows, prompt, answer, [])


def test_an_answer_that_is_given_again_is_guessed_from_earlier_answers_alone() -> None:
    workspace = [asked("explain", FIRST, ANSWER), asked("again", SECOND, ANSWER)]
    passes = {searched: [one.passes for one in replayed(workspace, searched, adapts=False)] for searched in SEARCHED}
    assert passes[THIS] == [99, 99]
    assert passes[ANSWERS] == passes[PROMPTS] == [99, 7]  # a plain one, since two tokens must agree; then 17 a pass


def test_code_of_an_earlier_prompt_is_guessed_only_if_prompts_are_searched() -> None:
    workspace = [asked("explain", FIRST, ANSWER), asked("quote", SECOND, FIRST[50:150])]
    passes = {searched: [one.passes for one in replayed(workspace, searched, adapts=False)] for searched in SEARCHED}
    assert passes[THIS] == passes[ANSWERS] == [99, 99]
    assert passes[PROMPTS] == [99, 7]


def test_what_the_prompt_begins_with_is_not_searched_twice() -> None:
    first = asked("explain", FIRST, ANSWER)
    assert earlier_texts([first], SECOND, PROMPTS) == [FIRST + ANSWER]
    assert earlier_texts([first], FIRST + ANSWER + SECOND, PROMPTS) == []
    assert earlier_texts([first], FIRST + ANSWER + SECOND, ANSWERS) == [ANSWER]
    assert earlier_texts([first], SECOND, THIS) == []


@pytest.mark.parametrize("adapts", [False, True])
def test_questions_asked_again_do_not_count_for_all(adapts: bool) -> None:
    workspace = [asked("explain", FIRST, ANSWER), asked("again", SECOND, ANSWER)]
    found = figures([workspace], adapts=adapts)
    assert found["all"]["answers"] == found["new"]["answers"] == found["click"]["answers"] == 1
    assert found["all"][ANSWERS]["to_first"] == 1
    assert found["again"][ANSWERS]["to_first"] > 3
    assert "follow-up" not in found

"""Questions about code in languages whose grammars come from one package, with the default drafter."""

from pathlib import Path

import pytest

from winnow_engine.core import Budget, Folder
from winnow_engine.index.workspace import Sources
from winnow_engine.question import Question

from .assistants import opened

pytestmark = pytest.mark.real_weights

SAMPLES = Sources((Folder(Path(__file__).parents[1] / "unit" / "index" / "samples"),))
QUESTIONS = {
    "How is the price of everything in the cart added up in Elixir?": ("elixir.ex", "Shop.Cart.total"),
    "Which Haskell function tells how long the queue is?": ("haskell.hs", "size"),
    "Where does the component set its count back to zero?": ("component.vue", "reset"),
    "push onto a stack": ("ocaml.ml", "push"),
}


def test_definitions_are_found_by_what_they_do(qwen_small: Path, tmp_path: Path) -> None:
    with opened(tmp_path, qwen_small) as assistant:
        for question, expected in QUESTIONS.items():
            kept = assistant.select(SAMPLES, Question(question), Budget(400))
            assert expected in {(span.path, span.name) for span in kept.spans}, question

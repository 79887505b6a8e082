"""The strings a drafter reads. An adapter was trained behind exactly these; changing one means training again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from winnow_cuda.shapes import Int32
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.question import CodeAtCursor

# The adapter was trained with code cut here. More code would dilute the question's attention.
CURSOR_TOKENS = 320

# How much of a question the drafter reads, so that a pasted log does not cost a forward pass of its length.
QUESTION_CHARACTERS = 2048

_SYSTEM = "You are a helpful coding assistant. Use the repository below to answer."
_ASK = "\n\nQuestion: Which function in this repository does the following:"
_ANSWER = "\nAnswer with the function's code."
_NULL_QUESTIONS = ("this", "something", "it does what it says")
_NULL_CODE = ("pass\n", "def f(x):\n    return x\n")
_AT_CURSOR = "\n\nCode at the cursor:\n```{language}\n"


@dataclass(frozen=True, slots=True)
class EncodedQuestion:
    """A question's token ids, int32 [N]; rows `body` hold what the user wrote, or the code at the cursor."""

    ids: Int32
    body: slice


class Template:
    """Builds token ids in the chat format the vocabulary knows."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        chatml = vocabulary.has_control_token("<|im_start|>")
        marker = "<|file_sep|>" if vocabulary.has_control_token("<|file_sep|>") else "\n# file: "
        self._file_marker = vocabulary.tokenize(marker, special=True)
        start = f"<|im_start|>system\n{_SYSTEM}<|im_end|>\n<|im_start|>user\n" if chatml else "Repository:\n"
        self.prefix = vocabulary.tokenize(start, special=True)
        self._opening = vocabulary.tokenize(_ASK)
        turn = "<|im_end|>\n<|im_start|>assistant\n" if chatml else "\n"
        self._turn = vocabulary.tokenize(turn, special=True)

    def header(self, path: str) -> Int32:
        """The tokens before a file's code: int32 [H]."""
        return np.concatenate([self._file_marker, self._vocabulary.tokenize(path + "\n")])

    def question(self, text: str, code: CodeAtCursor | None = None) -> EncodedQuestion:
        """A question about the workspace, or about code; cut to QUESTION_CHARACTERS, the code to CURSOR_TOKENS."""
        return self._about_workspace(text) if code is None else self._about_code(text, code)

    def null_questions(self, code: CodeAtCursor | None = None) -> list[EncodedQuestion]:
        """Questions that ask for nothing, with which scoring heads compare a question."""
        if code is None:
            return [self._about_workspace(text) for text in _NULL_QUESTIONS]
        return [self._about_code("Explain this code.", CodeAtCursor(text, code.language)) for text in _NULL_CODE]

    def _about_workspace(self, text: str) -> EncodedQuestion:
        asked = f"{_ASK} {text[:QUESTION_CHARACTERS]}"
        ids = self._vocabulary.tokenize(asked + _ANSWER)
        body = slice(len(self._opening), len(self._vocabulary.tokenize(asked)))
        return EncodedQuestion(np.concatenate([ids, self._turn]), body)

    def _about_code(self, text: str, code: CodeAtCursor) -> EncodedQuestion:
        opening = self._vocabulary.tokenize(_AT_CURSOR.format(language=code.language))
        body = self._vocabulary.tokenize(code.text)[:CURSOR_TOKENS]
        closing = self._vocabulary.tokenize(f"\n```\nQuestion: {text[:QUESTION_CHARACTERS]}")
        ids = np.concatenate([opening, body, closing, self._turn])
        return EncodedQuestion(ids, slice(len(opening), len(opening) + len(body)))

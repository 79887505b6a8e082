"""A needle: a number with a key, written as code of some language or as a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Style = Literal["code", "prose"]

_SENTENCE = {"python": "# {}", "text": "{}"}
_SENTENCE_ELSEWHERE = "// {}"

# No template ends in a blank line: there is one before and after each needle anyway.
_CODE = {
    "python": "def {snake}():\n    return {value}",
    "javascript": "function {camel}() {{\n  return {value};\n}}",
    "typescript": "export function {camel}(): number {{\n  return {value};\n}}",
    "go": "func {camel}() int {{\n\treturn {value}\n}}",
    "rust": "pub fn {snake}() -> u32 {{\n    {value}\n}}",
    "c": "int {snake}(void)\n{{\n    return {value};\n}}",
    "cpp": "int {camel}() {{\n  return {value};\n}}",
    "text": "def {snake}():\n    return {value}",
}

CODE_LANGUAGES = frozenset(_CODE) - {"text"}
"""The programming languages in which a needle can be written as code."""


@dataclass(frozen=True, slots=True)
class Needle:
    """The magic number `value` of `key`, two words joined by a hyphen. `ordinal` distinguishes needles of one key."""

    key: str
    value: str
    style: Style
    ordinal: str = ""

    def lines(self, language: str) -> list[str]:
        """The needle's lines in a file of a language; `text` means prose."""
        if self.style == "prose":
            sentence = f"The magic number of the {self.spoken} is {self.value}."
            return [_SENTENCE.get(language, _SENTENCE_ELSEWHERE).format(sentence)]
        words = f"{self.ordinal} magic number of the {self.spoken}".split()
        camel = words[0] + "".join(word.capitalize() for word in words[1:])
        return _CODE[language].format(snake="_".join(words), camel=camel, value=self.value).split("\n")

    @property
    def spoken(self) -> str:
        """The key without its hyphen."""
        return self.key.replace("-", " ")

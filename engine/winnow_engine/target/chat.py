"""A conversation → token ids, by the model's own chat template; message contents cannot pose as its turns.

The template is rendered with a mark in place of each content. Template text is tokenised with its control
tokens, contents without, so that `<|im_end|>` in a source file stays ten characters of text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NoReturn

import jinja2
import numpy as np
from jinja2.sandbox import ImmutableSandboxedEnvironment

from winnow_engine.errors import UnsupportedModelError
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.target.base import Message, Prompt

CHATML = (
    "{% for message in messages %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""The format most chat models descend from; used for a model that brings no template."""

_MARK = re.compile(r"@@content-(\d+)@@")


class ChatTemplate:
    """One model's chat template, sandboxed, with the helpers that Hugging Face templates rely on."""

    def __init__(self, source: str, special_texts: Mapping[str, str]) -> None:
        """`special_texts` are the template's `bos_token` and `eos_token`.

        Raises UnsupportedModelError on a syntax error.
        """
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
        environment.filters["tojson"] = _to_json
        environment.globals |= {"raise_exception": _refuse, "strftime_now": _now, **special_texts}
        try:
            self._template = environment.from_string(source)
        except jinja2.TemplateError as error:
            raise UnsupportedModelError(f"the target's chat template is not valid: {error}") from error

    def render(self, messages: Sequence[Message]) -> str:
        """The conversation as one string that ends where the answer starts.

        Raises UnsupportedModelError if the template refuses the messages.
        """
        turns = [{"role": message.role, "content": message.content} for message in messages]
        try:
            return self._template.render(messages=turns, tools=None, add_generation_prompt=True)
        except (jinja2.TemplateError, TypeError) as error:
            raise UnsupportedModelError(
                f"the target's chat template refuses the messages ({error}): choose another target"
            ) from error

    def tokenize(self, messages: Sequence[Message], vocabulary: Vocabulary) -> Prompt:
        """Token ids of the rendered conversation, with the model's BOS if it wants one.

        Raises UnsupportedModelError if the template refuses or drops a message.
        """
        rendered = self.render([Message(m.role, f"@@content-{i}@@") for i, m in enumerate(messages)])
        # Odd elements are the numbers of contents, even ones the template text around them.
        parts = _MARK.split(rendered)
        _check_complete(messages, parts[1::2])
        ids = [
            vocabulary.tokenize(messages[int(part)].content, special=False)
            if i % 2
            else vocabulary.tokenize(part, special=True)
            for i, part in enumerate(parts)
        ]
        return _with_bos(np.concatenate(ids), vocabulary.bos)


def _check_complete(messages: Sequence[Message], used: Sequence[str]) -> None:
    dropped = [m.role for i, m in enumerate(messages) if str(i) not in used]
    if dropped:
        raise UnsupportedModelError(
            f"the target's chat template drops {' and '.join(dropped)} messages: choose another target"
        )


def _with_bos(ids: Prompt, bos: int | None) -> Prompt:
    if bos is None or ids[:1].tolist() == [bos]:
        return ids
    return np.concatenate([np.array([bos], np.int32), ids])


def _refuse(reason: str) -> NoReturn:
    raise jinja2.TemplateError(reason)


def _now(pattern: str) -> str:
    return datetime.now().strftime(pattern)


def _to_json(value: object, indent: int | None = None) -> str:
    """Jinja's own `tojson` escapes for HTML, which is not what models were trained on."""
    return json.dumps(value, ensure_ascii=False, indent=indent)

"""Templates that end: anybody may have written a model's chat template, and a sandbox alone lets it run for ever.

Whatever repeats, a loop, a macro or a block, first looks at the time. What is one step to Python, a product or a power,
has a limit of its own. Memory is not limited, nor is what a template makes of long texts in one filter or comparison.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from jinja2 import Template, TemplateRuntimeError, nodes
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

_REPEATING: tuple[Any, ...] = (nodes.For, nodes.Macro, nodes.CallBlock, nodes.Block)
_MOST_S = 5.0  # of a processor; a template in Hermes' form takes 5 ms for 1,000 messages
_MOST_SIZE = 1_000_000  # bits of a number, items of a list, characters of a text


class _Limit(threading.local):
    """When the template that a thread renders has to be done, in the thread's own time."""

    latest = float("inf")


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """A sandbox whose templates take no more than 5 s of a processor. What exceeds that raises TemplateRuntimeError."""

    intercepted_binops = frozenset({"*", "**"})

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        del self.filters["slice"], self.filters["batch"], self.globals["lipsum"]  # these repeat as often as told
        self._limit = _Limit()

    def bounded(self, tree: nodes.Template) -> Template:
        """The template that `parse` returned, compiled. `tree` is changed."""
        for node in tree.find_all(_REPEATING):
            check = nodes.Call(nodes.EnvironmentAttribute("check_time"), [], [], None, None)
            node.body.insert(0, nodes.ExprStmt(check).set_lineno(node.lineno))
        return self.from_string(tree)

    def rendered(self, template: Template, **variables: Any) -> str:
        """What a template that `bounded` returned makes of some variables."""
        self._limit.latest = time.thread_time() + _MOST_S
        return template.render(**variables)

    def check_time(self) -> None:
        """Raise TemplateRuntimeError once the time is up."""
        if time.thread_time() > self._limit.latest:
            raise TemplateRuntimeError(f"it takes more than {_MOST_S:g} s")

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """A product or a power. Raises TemplateRuntimeError if that is large."""
        if _size(operator, left, right) > _MOST_SIZE:
            raise TemplateRuntimeError(f"it computes something larger than {_MOST_SIZE:,} bits or items")
        return super().call_binop(context, operator, left, right)


def _size(operator: str, left: Any, right: Any) -> int:
    """Bits of the number, or items of the sequence, that a product or a power is; 0 for anything else."""
    if isinstance(left, int) and isinstance(right, int):
        return left.bit_length() * right if operator == "**" else left.bit_length() + right.bit_length()
    times, repeated = (left, right) if isinstance(left, int) else (right, left)
    return times * len(repeated) if isinstance(times, int) and isinstance(repeated, str | list | tuple) else 0

"""A sandbox for chat templates, which anybody may have written, that ends whatever they do.

Jinja's own sandbox keeps a template from the process, but lets it run for ever. Here whatever repeats or makes
something looks at the time. A single step can still fill the memory or take long: a text made of others, a product, a
printed list, two nested lists that are compared. So the values of such a step are weighed first.
"""

from __future__ import annotations

import functools
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from jinja2 import Template, TemplateRuntimeError, nodes
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

_MOST_S = 0.5  # of a processor; a template in Hermes' form takes 5 ms for 1,000 messages
_MOST_MADE = 10_000_000  # characters, bits or items that one step may make; in `_MOST_S`, 1 to 2 GB in all
# A format's width of 1,000 and more, or one that is an argument; also a key with a bracket. It takes linear time.
_WIDE = re.compile(r"%\([^()]*\(|%(\([^()]*\))?[# +.0-]*(\d*\.)?(\d{4}|\*)|\{[^{}:]*:[^{}]*(\d{4}|\{)")


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """A sandbox whose templates take at most 0.5 s of a processor. What exceeds that raises TemplateRuntimeError."""

    intercepted_binops = frozenset({"*", "**", "+", "%", "//"})

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options, finalize=_weighed_value)
        del self.filters["slice"], self.filters["batch"], self.globals["lipsum"]  # these repeat as often as told
        self._limit = threading.local()

    def bounded(self, tree: nodes.Template) -> Template:
        """Compile the template that `parse` returned, which is changed."""
        self._limit.latest = 0.0  # nothing is computed before the template runs
        self.filters = {name: self._weighed(name, one) for name, one in self.filters.items()}
        comparing = {name: test for name, test in self.tests.items() if test.__module__ == "_operator" or name == "in"}
        self.tests = self.tests | {name: _comparing(test) for name, test in comparing.items()}
        for node in tree.find_all((nodes.For, nodes.Macro, nodes.CallBlock, nodes.Block)):
            node.body.insert(0, nodes.ExprStmt(_call("check")).set_lineno(node.lineno))  # type: ignore[attr-defined]
        return self.from_string(_Intercepted().visit(tree))

    def rendered(self, template: Template, **variables: Any) -> str:
        """Render a template that `bounded` returned."""
        self._limit.latest = time.thread_time() + _MOST_S
        return template.render(**variables)

    def check(self) -> None:
        """Raise TemplateRuntimeError once the time is up."""
        if time.thread_time() > self._limit.latest:
            raise TemplateRuntimeError(f"it takes more than {_MOST_S:g} s")

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute a product, a power, a sum or a text by a format. Raises TemplateRuntimeError if that is large."""
        self.check()
        if isinstance(left, int) and isinstance(right, int):
            bits = left.bit_length(), right.bit_length()
            steps = bits[0] * bits[1] // 900  # of a division, which takes pairs of 30 bits
            _weigh(range(bits[0] * right if operator == "**" else sum(bits) if operator in "*+" else steps))
        elif isinstance(left, str | bytes) and operator == "%":
            _weigh_format(left, right)
        elif operator == "+":
            _weigh((left, right))
        elif not isinstance(left, float) and not isinstance(right, float):
            _weigh(_as_width(left), right)
        return super().call_binop(context, operator, left, right)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        """Call something. Raises TemplateRuntimeError if a value's method would make or compare much."""
        __self.check()
        method = getattr(__obj, "__wrapped__", __obj)
        value = getattr(method, "__self__", None)
        if isinstance(value, str | bytes | int):
            args = tuple(_as_list(one) for one in args)
            weigh = _weigh_format if method.__name__ in ("format", "format_map") else _weigh
            weigh(value, *args, *kwargs.values())
        elif isinstance(value, Collection) or method is dict:
            args = tuple(_as_list(one) for one in args)
            _weigh((args, value if isinstance(value, Sequence) else None))
        return super().call(__context, __obj, *args, **kwargs)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """An item of a value."""
        return super().getitem(obj, _weighed_value(argument))

    def concat(self, parts: Iterable[str]) -> str:
        """Join parts of what is written. Raises TemplateRuntimeError if that is long."""
        self.check()
        written, size = list[str](), 0
        for part in parts:
            written.append(part)
            size += len(part)
            if size > _MOST_MADE:
                raise TemplateRuntimeError(_too_much())
        return "".join(written)

    def joined(self, *parts: Any) -> str:
        """Join values, as `~` does. Raises TemplateRuntimeError if that is long."""
        return self.concat(str(_weighed_value(part)) for part in parts)

    def sliced(self, value: Any, start: Any, stop: Any, step: Any) -> Any:
        """Some items of a value."""
        self.check()
        return value[slice(start, stop, step)]

    def _weighed(self, name: str, apply: Callable[..., Any]) -> Callable[..., Any]:
        """A filter that raises TemplateRuntimeError if it could make much."""
        hidden = int(hasattr(apply, "jinja_pass_arg"))  # a context or such like comes first
        weigh = _weigh_format if name == "format" else _weigh

        @functools.wraps(apply)
        def weighed(*args: Any, **kwargs: Any) -> Any:
            self.check()
            given = [_as_list(one) for one in args[hidden:]]
            weigh(*given, *kwargs.values())
            return apply(*args[:hidden], *given, **kwargs)

        return weighed


class _Intercepted(NodeTransformer):
    """Has the environment join, slice, and look at what is compared or a key, which it could not do otherwise."""

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        operands: list[nodes.Compare | nodes.Operand] = [node, *node.ops]
        if sum(not isinstance(one.expr, nodes.Const) for one in operands) > 1:
            for one in operands:
                one.expr = _call("finalize", one.expr)
        return node

    def visit_Pair(self, node: nodes.Pair) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        node.key = _call("finalize", node.key)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _call("joined", *node.nodes)

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        if not isinstance(node.arg, nodes.Slice):
            return node
        bounds = (one or nodes.Const(None) for one in (node.arg.start, node.arg.stop, node.arg.step))
        return _call("sliced", node.node, *bounds)


def _call(name: str, *arguments: nodes.Expr) -> nodes.Call:
    line = arguments[0].lineno if arguments else None
    return nodes.Call(nodes.EnvironmentAttribute(name), list(arguments), [], None, None, lineno=line)


def _weighed_value(value: Any) -> Any:
    """Pass on a value that is to become text, or to be compared."""
    if not isinstance(value, str):
        _weigh(value)
    return value


def _comparing(test: Any) -> Callable[..., Any]:
    return lambda *values: test(*map(_weighed_value, values))


def _weigh_format(text: Any, *values: Any) -> None:
    if _WIDE.search(repr(text).replace("{{", "")):
        raise TemplateRuntimeError("it formats something to a width of its own")
    _weigh(text, values)


def _weigh(value: Any, *others: Any) -> None:
    """Raise TemplateRuntimeError if a text with one of the values for each character of another is too long."""
    *_, second, most = 1.0, *sorted(map(_weight, (value, *map(_as_width, others))))
    if second * most > _MOST_MADE:
        raise TemplateRuntimeError(_too_much())


def _too_much() -> str:
    return f"it makes texts and lists larger than {_MOST_MADE:,} characters"


def _as_list(value: Any) -> Any:
    """What can be gone through once, as a list of what it yields."""
    return list(value) if isinstance(value, Iterator) else value


def _as_width(value: Any) -> Any:
    """A whole number among arguments, as a text of so many characters: it may be the width of what is made."""
    return range(abs(value)) if isinstance(value, int) else value


def _weight(value: Any) -> float:
    """The number of characters that a value has as text, at least one; an item counts as ten more."""
    if isinstance(value, str | bytes | range):
        return max(1, len(value))
    if isinstance(value, int):
        return value.bit_length() // 3 + 1
    if isinstance(value, Namespace):
        return float("inf")
    weight = 1.0
    items = chain(value.keys(), value.values()) if isinstance(value, Mapping) else value
    for one in items if isinstance(value, Collection) else ():
        weight += 10 + _weight(one)
        if weight > _MOST_MADE:
            break
    return weight

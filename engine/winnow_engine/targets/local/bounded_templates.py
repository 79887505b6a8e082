"""Templates that end: anybody may have written a model's chat template, and a sandbox alone lets it run for ever.

Whatever repeats, a loop, a macro or a block, first looks at the time. What a template makes is counted: texts by
characters, collections by items. A step that could make much at once, a product or a text out of others, is looked at
before it is taken. What takes long without making anything, such as a comparison of long texts, is not limited.
"""

from __future__ import annotations

import functools
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from jinja2 import Template, TemplateRuntimeError, nodes
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

_REPEATING: tuple[Any, ...] = (nodes.For, nodes.Macro, nodes.CallBlock, nodes.Block)
_LITERALS: tuple[Any, ...] = (nodes.List, nodes.Tuple, nodes.Dict)
_MOST_S = 5.0  # of a processor; a template in Hermes' form takes 5 ms for 1,000 messages
_MOST_SIZE = 1_000_000  # bits of a number, items of a list, characters of a text: of one product or power
_MOST_MADE = 100_000_000  # characters, of what is given up again too
_OBJECT, _ITEM = 32, 4  # an object, and each item in it, count as so many characters
_TOO_MUCH = f"it makes texts and lists larger than {_MOST_MADE:,} characters"
# Filters that pass on what they are given, or a part of it, and make no text of it.
_PASSING = frozenset(
    (
        *("attr", "count", "d", "default", "dictsort", "first", "float", "groupby", "int", "items", "last", "length"),
        *("list", "map", "max", "min", "random", "reject", "rejectattr", "reverse", "round", "select", "selectattr"),
        *("sort", "unique"),
    )
)
# A format's width of 1,000 and more, or one that is an argument.
_WIDE = re.compile(r"%(\([^)]*\))?[# +.0-]*(\d*\.)?(\d{4}|\*)|\{[^{}]*:[^{}]*(\d{4}|\{)")


class _Limit(threading.local):
    """Until when, in the thread's own time, the template that it renders may run, and how much it may still make."""

    latest = float("inf")
    room = float("inf")


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """A sandbox whose templates take at most 5 s of a processor, and about 1 GB.

    What exceeds that raises TemplateRuntimeError.
    """

    intercepted_binops = frozenset({"*", "**", "+", "%"})

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options, finalize=self._printed)
        del self.filters["slice"], self.filters["batch"], self.globals["lipsum"]  # these repeat as often as told
        self._limit = _Limit()

    def bounded(self, tree: nodes.Template) -> Template:
        """The template that `parse` returned, compiled. `tree` is changed."""
        self.filters = {name: self._counted(name, one) for name, one in self.filters.items()}
        self._limit.room = 0  # nothing is computed before the template runs
        for node in tree.find_all(_REPEATING):
            check = _call("check", nodes.Const(_made_by_literals(node)))
            node.body.insert(0, nodes.ExprStmt(check).set_lineno(node.lineno))
        return self.from_string(_Intercepted().visit(tree))

    def rendered(self, template: Template, **variables: Any) -> str:
        """What a template that `bounded` returned makes of some variables."""
        self._limit.latest, self._limit.room = time.thread_time() + _MOST_S, _MOST_MADE
        return template.render(**variables)

    def check(self, made: int) -> None:
        """Raise TemplateRuntimeError once the time is up, or too much is made."""
        if time.thread_time() > self._limit.latest:
            raise TemplateRuntimeError(f"it takes more than {_MOST_S:g} s")
        self._make(made)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """A product, a power, a sum or a text by a format. Raises TemplateRuntimeError if that is large."""
        if _product_size(operator, left, right) > _MOST_SIZE:
            raise TemplateRuntimeError(f"it computes something larger than {_MOST_SIZE:,} bits or items")
        if operator == "%" and isinstance(left, str):
            self._look_at_format(left, right)
        if operator == "+":
            self._make(_size(left) + _size(right))
        return super().call_binop(context, operator, left, right)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        """A call. Raises TemplateRuntimeError if it makes a long text."""
        method = getattr(__obj, "__wrapped__", __obj)
        text = getattr(method, "__self__", None)
        if isinstance(text, str):
            if method.__name__ in ("format", "format_map"):
                __self._look_at_format(text, args, kwargs)
            else:
                args = tuple(_as_list(one) for one in args)
                __self._look_at(text, *map(_as_width, chain(args, kwargs.values())))
        return __self._made(super().call(__context, __obj, *args, **kwargs))

    def concat(self, parts: Iterable[str]) -> str:
        """Parts of what is written, as one text. Raises TemplateRuntimeError if it is long."""
        return "".join(self._made(part) for part in parts)

    def joined(self, *parts: Any) -> str:
        """What `~` makes of values. Raises TemplateRuntimeError if that is long."""
        return self.concat(str(self._printed(part)) for part in parts)

    def sliced(self, value: Any, start: Any, stop: Any, step: Any) -> Any:
        """Some items of a value."""
        return value[slice(start, stop, step)]

    def _counted(self, name: str, apply: Callable[..., Any]) -> Callable[..., Any]:
        """A filter that raises TemplateRuntimeError if it makes much."""
        hidden = int(hasattr(apply, "jinja_pass_arg"))  # a context or such like comes first

        @functools.wraps(apply)
        def counted(*args: Any, **kwargs: Any) -> Any:
            if name not in _PASSING and len(args) > hidden:
                before, value, others = args[:hidden], _as_list(args[hidden]), args[hidden + 1 :]
                args = (*before, value, *others)
                if name == "format":
                    self._look_at_format(str(value), others, kwargs)
                else:
                    self._look_at(value, *map(_as_width, chain(others, kwargs.values())))
            return self._made(apply(*args, **kwargs))

        return counted

    def _printed(self, value: Any) -> Any:
        """A value that is to become text."""
        if not isinstance(value, str):
            self._look_at(value)
        return value

    def _look_at_format(self, text: str, *values: Any) -> None:
        if _WIDE.search(text.replace("{{", "")):
            raise TemplateRuntimeError("it formats something to a width of its own")
        self._look_at(text, values)

    def _look_at(self, *values: Any) -> None:
        """Raise TemplateRuntimeError if a text with one of the values for each character of another is too long."""
        *_, second, most = 1.0, *sorted(_weight(value) for value in values)
        if second * most > self._limit.room:
            raise TemplateRuntimeError(_TOO_MUCH)

    def _made(self, value: Any) -> Any:
        self._make(_OBJECT + _size(value))
        return value

    def _make(self, size: int) -> None:
        self._limit.room -= size
        if self._limit.room < 0:
            raise TemplateRuntimeError(_TOO_MUCH)


class _Intercepted(NodeTransformer):
    """Has the environment do what it could not look at otherwise."""

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _call("joined", *node.nodes).set_lineno(node.lineno)

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        if not isinstance(node.arg, nodes.Slice):
            return node
        bounds = (one or nodes.Const(None) for one in (node.arg.start, node.arg.stop, node.arg.step))
        return _call("sliced", node.node, *bounds).set_lineno(node.lineno)


def _call(name: str, *arguments: nodes.Expr) -> nodes.Call:
    return nodes.Call(nodes.EnvironmentAttribute(name), list(arguments), [], None, None)


def _made_by_literals(node: nodes.Node) -> int:
    """What the lists, tuples and dictionaries written in a loop count as, each time it is gone through."""
    return _OBJECT * sum(1 + len(one.items) for one in node.find_all(_LITERALS))


def _product_size(operator: str, left: Any, right: Any) -> int:
    """Bits of the number, or items of the sequence, that a product or a power is; 0 for anything else."""
    if operator not in ("*", "**"):
        return 0
    if isinstance(left, int) and isinstance(right, int):
        return left.bit_length() * right if operator == "**" else left.bit_length() + right.bit_length()
    times, repeated = (left, right) if isinstance(left, int) else (right, left)
    return times * len(repeated) if isinstance(times, int) and isinstance(repeated, str | list | tuple) else 0


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    return _ITEM * len(value) if isinstance(value, list | tuple | dict) else 0


def _as_list(value: Any) -> Any:
    """What can be gone through once, as a list of what it yields."""
    return list(value) if isinstance(value, Iterator) else value


def _as_width(value: Any) -> Any:
    """A whole number among arguments, as a text of so many characters: it may be the width of what is made."""
    return range(abs(value)) if isinstance(value, int) and not isinstance(value, bool) else value


def _weight(value: Any) -> float:
    """How many characters a value has as text, at least one, or more than `_MOST_MADE`; an item counts as ten more."""
    if isinstance(value, str | range):
        return max(1, len(value))
    if isinstance(value, int):
        return value.bit_length() // 3 + 1
    if isinstance(value, Namespace):
        return float("inf")
    weight = 1.0
    for one in _items(value) if isinstance(value, Collection) else ():
        weight += 10 + _weight(one)
        if weight > _MOST_MADE:
            break
    return weight


def _items(value: Collection[Any]) -> Iterable[Any]:
    return chain(value.keys(), value.values()) if isinstance(value, Mapping) else value

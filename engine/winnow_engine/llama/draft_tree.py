"""A draft's proposal: a tree of tokens that may follow the answer so far."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

S = TypeVar("S")

ROOT = -1
"""The parent of nodes that follow the answer's last token directly."""


@dataclass(frozen=True, slots=True)
class DraftTree:
    """Drafted tokens, each after its parent; siblings differ.

    `worth`, in (0, 1], estimates that all tokens down to a node are right; it never rises.
    """

    tokens: tuple[int, ...] = ()
    parents: tuple[int, ...] = ()
    worth: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        assert len(self.tokens) == len(self.parents) == len(self.worth), self
        assert all(ROOT <= parent < node for node, parent in enumerate(self.parents)), self

    def __len__(self) -> int:
        return len(self.tokens)

    def first(self, nodes: int) -> DraftTree:
        """The tree of the first `nodes` nodes."""
        return DraftTree(self.tokens[:nodes], self.parents[:nodes], self.worth[:nodes])

    def trunk(self) -> DraftTree:
        """The path down from the root that takes the first child each time."""
        nodes = [ROOT]
        for node, parent in enumerate(self.parents):
            if parent == nodes[-1]:
                nodes.append(node)
        return chain((self.tokens[node] for node in nodes[1:]), (self.worth[node] for node in nodes[1:]))

    def child(self, node: int, token: int) -> int | None:
        """The child of `node`, or of ROOT, that has this token, or None."""
        pairs = zip(self.parents, self.tokens, strict=True)
        return next((child for child, pair in enumerate(pairs) if pair == (node, token)), None)

    def depths(self) -> list[int]:
        """For each node, how many places it stands behind the answer's last token: 1 for ROOT's children."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(1 if parent == ROOT else depths[parent] + 1)
        return depths

    def branches(self) -> list[list[int]]:
        """For each node, the branches that lead through it. A branch is a path to a leaf; branch 0 is the trunk."""
        through: list[list[int]] = [[] for _ in self.tokens]
        for branch, leaf in enumerate(self._leaves()):
            node = leaf
            while node != ROOT:
                through[node].append(branch)
                node = self.parents[node]
        return through

    def _leaves(self) -> list[int]:
        """Nodes without children, those of first children first."""
        children: dict[int, list[int]] = {}
        for node, parent in enumerate(self.parents):
            children.setdefault(parent, []).append(node)
        leaves, stack = [], [ROOT] if self.tokens else []
        while stack:
            node = stack.pop()
            stack += reversed(children.get(node, []))
            if node not in children:
                leaves.append(node)
        return leaves


NOTHING = DraftTree()


def chain(tokens: Iterable[int], worth: Iterable[float]) -> DraftTree:
    """A tree without branches."""
    tokens = tuple(tokens)
    return DraftTree(tokens, tuple(range(ROOT, len(tokens) - 1)), tuple(worth))


Expand = Callable[[S], Iterable[tuple[int, float, S]]]
"""Gives what may follow a state: tokens, each with its probability and the state behind it."""


def grow(start: S, expand: Expand[S], limit: int, least: float) -> DraftTree:
    """The best tree of at most `limit` nodes by cumulative probability, without nodes worth less than `least`."""
    tokens: list[int] = []
    parents: list[int] = []
    worths: list[float] = []
    order = count()
    heap: list[tuple[float, int, int, int, S]] = []

    def push(parent: int, worth: float, state: S) -> None:
        for token, probability, behind in expand(state):
            if worth * probability >= least:
                heapq.heappush(heap, (-worth * probability, next(order), parent, token, behind))

    if limit > 0:
        push(ROOT, 1.0, start)
    while heap and len(tokens) < limit:
        negative, _, parent, token, state = heapq.heappop(heap)
        tokens.append(token)
        parents.append(parent)
        worths.append(-negative)
        if len(tokens) < limit:
            push(len(tokens) - 1, -negative, state)
    return DraftTree(tuple(tokens), tuple(parents), tuple(worths))

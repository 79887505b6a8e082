"""A comment inside a function → the function, without the comment."""

from __future__ import annotations

import re

from winnow_research.evaluation.haystack import Place
from winnow_research.training.examples.base import Example, ProjectTree
from winnow_research.training.wording import asked

_COMMENT = re.compile(r"^\s*(?://|#)\s?(?P<text>[A-Za-z].*)$")
_CODE = re.compile(r"[;={}]|\w\(|TODO|FIXME|XXX|noqa|type:|pragma|eslint|nolint|SAFETY|clippy|istanbul", re.I)
_WORDS = range(6, 41)


def examples(tree: ProjectTree) -> list[Example]:
    """At most one for each function: its longest comment on lines of its own."""
    rng = tree.rng("comments")
    found = []
    for place in tree.functions:
        comments = [(text, lines) for text, lines in _comments(place) if len(text.split()) in _WORDS]
        if comments:
            text, lines = max(comments, key=lambda comment: len(comment[0]))
            question = asked(text, tree.project, rng) if rng.random() < 0.5 else text
            found.append(Example("comment", question, (place,), quoted=frozenset({(place, lines)})))
    return found


def _comments(place: Place) -> list[tuple[str, frozenset[int]]]:
    """Runs of comment lines after the first line of code, as (text, lines)."""
    runs: list[tuple[list[str], list[int]]] = []
    code_seen = False
    for number, line in enumerate(place.text.splitlines(), place.unit.start_line):
        match = _COMMENT.match(line)
        if match is None:
            code_seen = code_seen or bool(line.strip())
        elif code_seen and not _CODE.search(match["text"]):
            if runs and runs[-1][1][-1] == number - 1:
                runs[-1][0].append(match["text"])
                runs[-1][1].append(number)
            else:
                runs.append(([match["text"]], [number]))
    return [(" ".join(texts), frozenset(lines)) for texts, lines in runs]

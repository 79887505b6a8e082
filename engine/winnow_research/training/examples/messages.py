"""A message a program prints → the code that prints it."""

from __future__ import annotations

import re
from collections import Counter

from winnow_research.training.examples.base import Example, ProjectTree

_MESSAGE = re.compile(r"""(?:[(=,+:]|return)[ \t]*[a-zA-Z$]{0,2}["'`]([A-Za-z][^"'`\\\n]{24,140})["'`]""")
_HOLE = re.compile(r"%[-+.\d]*[a-zA-Z]|\$?\{[^}]*\}|\{\}")
_LEAST_WORDS = 5
_ONE_IN = 2
_TEXTS = (
    "Why do I get `{message}`?",
    'I get "{message}". What causes it?',
    "error: {message}",
    "What does this mean: {message}",
    "Where does the message '{message}' come from?",
)


def examples(tree: ProjectTree) -> list[Example]:
    """A question for half of the messages that occur in one function only. Placeholders are filled with words."""
    rng = tree.rng("messages")
    by_place = [(place, _messages(place.text)) for place in tree.functions]
    counts = Counter(message for _, messages in by_place for message in messages)
    found = []
    for place, messages in by_place:
        alone = sorted(message for message in messages if counts[message] == 1)
        if alone and rng.randrange(_ONE_IN) == 0:
            said = _HOLE.sub(lambda _: rng.choice(("foo", "3", "/tmp/x", "null", "main")), rng.choice(alone))
            found.append(Example("message", rng.choice(_TEXTS).format(message=said), (place,)))
    return found


def _messages(text: str) -> set[str]:
    return {message for message in _MESSAGE.findall(text) if len(message.split()) >= _LEAST_WORDS}

"""A model that knows what to say: a server in this process gives the answers that changes of the code are made from."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ..unit.targets.hostile import DONE, Hostile, Talk, event, large, served

DISCOUNT = """```python
def unit_price(name: str, count: int) -> int:
    \"""The price of one piece in cents; ten or more pieces are a tenth cheaper.\"""
    price = find(name).price_cents
    return price * 8 // 10 if count >= BULK_FROM else price
```"""
GREETING = '''"""Greetings."""


def greeting_for(name, polite):
    """The greeting for a person: "Dear" where it should be polite, "Hello" elsewhere."""
    opening = "Dear" if polite else "Hello"
    return f"{opening} {name}"
'''


@contextmanager
def knowing(answers: Mapping[str, str]) -> Iterator[Hostile]:
    """A target that gives the answer whose key is in the prompt; `url` is the setting `winnow.target`."""

    def chat(talk: Talk) -> None:
        asked = json.dumps(talk.document["messages"][-1])
        answer = next((text for key, text in answers.items() if key in asked), "I do not know.")
        talk.stream(event(answer), event(finish="stop"), DONE)

    with served(Hostile(chat, large)) as hostile:
        yield hostile

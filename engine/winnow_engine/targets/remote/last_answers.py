"""How fast the servers on this machine last answered, kept in the cache folder."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from urllib.parse import unquote

from winnow_engine.errors import WinnowError
from winnow_engine.storage.folders import cache_folder
from winnow_engine.targets.base import Generation

_FILE = "servers.json"
# A shorter answer says little.
_FEWEST_TOKENS = 16
_MOST_SERVERS = 100


@dataclass(frozen=True, slots=True)
class LastAnswer:
    """Seconds until the first token behind a prompt of so many tokens, some of which the server may have known."""

    prompt_tokens: int
    first_token_s: float
    answer_tokens_per_s: float


def remember(url: str, answer: Generation) -> None:
    """Keep the times of an answer of the model at `url`. Without a writable folder, nothing happens."""
    if answer.first_token_s is None or answer.decode_tokens < _FEWEST_TOKENS:
        return
    last = LastAnswer(answer.prompt_tokens, answer.first_token_s, answer.decode_tokens_per_s)
    known = {one: asdict(found) for one, found in last_answers().items() if one != url}
    with suppress(OSError, WinnowError):
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _FILE).write_text(json.dumps({**dict([*known.items()][-_MOST_SERVERS:]), url: asdict(last)}))


def last_answers() -> dict[str, LastAnswer]:
    """The last answers by URL and model, unquoted; {} if the record cannot be read."""
    try:
        found = json.loads((cache_folder() / _FILE).read_text())
        return {url: LastAnswer(**one) for url, one in found.items()}
    except (OSError, ValueError, TypeError, AttributeError, WinnowError):
        return {}


def last_answer(url: str) -> LastAnswer | None:
    """The last answer of a model that discovery found."""
    return last_answers().get(unquote(url))

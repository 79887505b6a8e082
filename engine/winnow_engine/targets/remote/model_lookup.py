"""The model that a server answers with, the length of its context, and how its tokens are counted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from winnow_engine.errors import ModelNotFoundError, TargetProtocolError, TargetRefusedError, WinnowError
from winnow_engine.targets.remote.chunks import count_of
from winnow_engine.targets.remote.client import Client, RetryPolicy
from winnow_engine.targets.remote.ollama import is_ollama

UNKNOWN_CONTEXT = 4096
"""Tokens, if a server does not say: Ollama's default, beyond which it silently cuts prompts."""

_MOST_LISTED = 10
_ONCE = RetryPolicy(short_s=1.0, retries=())  # for a page that few servers have


async def find_model(client: Client, wanted: str | None) -> tuple[str, int | None]:
    """Name and context in tokens, if told, of the `wanted` or only model. ModelNotFoundError, as `Client`."""
    try:
        listed = await client.get(f"{client.address.base}/models")
    except (ModelNotFoundError, TargetRefusedError) as error:  # some gateways do not list what they have
        if isinstance(error, TargetRefusedError) and not error.forbidden:
            raise
        if not wanted:
            raise type(error)(f"{error}; a model that is not listed goes into the URL behind #") from error
        return wanted, None
    found = _models(listed, client.address.host)
    if wanted:  # Ollama lists a model with its tag, `latest` if none is said
        name = next((one for one in (wanted, f"{wanted}:latest", wanted.removesuffix(":latest")) if one in found), None)
    else:
        name = next(iter(found)) if len(found) == 1 else None
    if name:
        return name, context_of_entry(found[name]) or await _running_context(client, name)
    if wanted and (routed := found.get(wanted.rpartition(":")[0])):  # a gateway's model by one of its providers
        return wanted, context_of_entry(routed)
    problem = f"has no model {wanted}" if wanted else f"has {len(found)} models"
    if wanted and await is_ollama(client):
        problem += f" (fetch it by: ollama pull {wanted})"
    shown = ", ".join(list(found)[:_MOST_LISTED]) or "none"
    raise ModelNotFoundError(f"{client.address.host} {problem}: add one of these to the target's URL behind #: {shown}")


def _models(document: Any, host: str) -> dict[str, dict[str, Any]]:
    """The models by name; some servers send the list alone."""
    try:
        entries = document if isinstance(document, list) else document["data"] or ()
        return {str(entry["id"]): entry for entry in entries}
    except (TypeError, LookupError) as error:
        raise TargetProtocolError(f"{host} lists its models in a form other than OpenAI's API") from error


def context_of_entry(entry: dict[str, Any]) -> int | None:
    """The context in a model's entry, as vLLM and SGLang, LM Studio or llama-server tell it."""
    named = count_of(entry, "max_model_len") or count_of(entry, "loaded_context_length")
    return named or count_of(entry.get("meta"), "n_ctx") or None


async def _running_context(client: Client, model: str) -> int | None:
    """The context that llama-server or LM Studio runs with. Other servers lack these pages."""
    with suppress(WinnowError):
        if context := context_of_properties(await client.get(f"{client.address.root}/props")):
            return context
    with suppress(WinnowError):
        loaded = _models(await client.get(f"{client.address.root}/api/v0/models", _ONCE), client.address.host)
        return context_of_entry(loaded.get(model, {}))
    return None


def context_of_properties(properties: Any) -> int | None:
    """The context in llama-server's `/props`."""
    settings = properties.get("default_generation_settings") if isinstance(properties, dict) else None
    return count_of(settings, "n_ctx") or None


_PROBE = "hello"
_MOST_PROBE_TOKENS = 8
# Of this repository's 326 text files, 310 have over 2.6 bytes per token (SmolLM2, Qwen2.5), 320 have over 2.
_BYTES_A_TOKEN = 2


@dataclass(frozen=True, slots=True)
class Route:
    """One kind of server's way to count: where to ask, what to send, and how to read the answer."""

    name: str
    path: str
    document: Callable[[str, str], dict[str, Any]]
    tokens: Callable[[Any], Any]

    async def count(self, client: Client, model: str, text: str) -> int:
        """The number of tokens of `text`. Raises what `Client` does, and ValueError for an answer in another form."""
        answer = await client.post(f"{client.address.root}{self.path}", self.document(model, text))
        found = self.tokens(answer) if isinstance(answer, dict) else None
        if not isinstance(found, int):
            raise ValueError(f"{self.path} answers in another form")
        return found


ROUTES = (
    Route("vLLM's", "/tokenize", lambda model, text: {"model": model, "prompt": text}, lambda a: a.get("count")),
    Route("llama-server's", "/tokenize", lambda _, text: {"content": text}, lambda a: _length(a.get("tokens"))),
    Route(
        "llama-cpp-python's",
        "/extras/tokenize/count",
        lambda model, text: {"model": model, "input": text},
        lambda a: a.get("count"),
    ),
)


async def find_route(client: Client, model: str) -> Route | None:
    """The first way to count that the server knows, or None: Ollama has none."""
    for route in ROUTES:
        try:
            found = await route.count(client, model, _PROBE)
        except (WinnowError, ValueError):
            continue
        if 1 <= found <= _MOST_PROBE_TOKENS:
            return route
    return None


def estimate(text: str) -> int:
    """An estimate of the tokens of `text` for an unknown vocabulary."""
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_A_TOKEN)


def _length(tokens: object) -> int | None:
    return len(tokens) if isinstance(tokens, list) else None

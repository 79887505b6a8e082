"""Finds the model that a server answers with, and the length of its context."""

from __future__ import annotations

from typing import Any

from winnow_engine.errors import ModelNotFoundError, TargetProtocolError, WinnowError
from winnow_engine.targets.remote.client import Client
from winnow_engine.targets.remote.ollama import is_ollama

UNKNOWN_CONTEXT = 4096
"""Tokens, if a server does not say: Ollama's default, beyond which it silently cuts prompts."""

_MOST_LISTED = 10


async def find_model(client: Client, wanted: str | None) -> tuple[str, int | None]:
    """The name of the model to ask, and its context in tokens if the server says so.

    `wanted` must be one of the server's models; if it is None, the server must have exactly one. Raises
    ModelNotFoundError and what `Client` does.
    """
    try:
        listed = await client.get(f"{client.address.base}/models")
    except ModelNotFoundError:
        if not wanted:
            raise
        return wanted, None  # some gateways do not list what they have
    found = _models(listed, client.address.host)
    name = next((one for one in _spellings(wanted) if one in found), None) if wanted else _only(found)
    if name:
        return name, context_of_entry(found[name]) or await _running_context(client)
    problem = f"has no model {wanted}" if wanted else f"has {len(found)} models"
    if wanted and await is_ollama(client):
        problem += f" (fetch it by: ollama pull {wanted})"
    shown = ", ".join(list(found)[:_MOST_LISTED]) or "none"
    raise ModelNotFoundError(f"{client.address.host} {problem}: add one of these to the target's URL behind #: {shown}")


def _spellings(name: str) -> tuple[str, ...]:
    """A name, and what Ollama lists for it: a model has a tag, `latest` if none is said."""
    return (name, f"{name}:latest", name.removesuffix(":latest"))


def _only(found: dict[str, dict[str, Any]]) -> str | None:
    return next(iter(found)) if len(found) == 1 else None


def _models(document: Any, host: str) -> dict[str, dict[str, Any]]:
    """The models by name; some servers send the list alone."""
    try:
        entries = document if isinstance(document, list) else document["data"] or ()
        return {str(entry["id"]): entry for entry in entries}
    except (TypeError, LookupError) as error:
        raise TargetProtocolError(f"{host} lists its models in a form other than OpenAI's API") from error


def context_of_entry(entry: dict[str, Any]) -> int | None:
    """The context in a model's entry.

    vLLM and SGLang have `max_model_len`. llama-server has `meta`; it may run with less than its `n_ctx_train`.
    """
    meta = entry.get("meta")
    return _positive(entry.get("max_model_len")) or _positive(meta.get("n_ctx") if isinstance(meta, dict) else None)


async def _running_context(client: Client) -> int | None:
    """The context that llama-server runs with. Other servers lack this page."""
    try:
        properties = await client.get(f"{client.address.root}/props")
    except WinnowError:
        return None
    return context_of_properties(properties)


def context_of_properties(properties: Any) -> int | None:
    """The context in llama-server's `/props`."""
    settings = properties.get("default_generation_settings") if isinstance(properties, dict) else None
    return _positive(settings.get("n_ctx")) if isinstance(settings, dict) else None


def _positive(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None

"""Which model a server answers with, and how long its context is."""

from __future__ import annotations

from typing import Any

from winnow_engine.errors import ModelNotFoundError, TargetProtocolError, WinnowError
from winnow_engine.targets.remote.client import Client

UNKNOWN_CONTEXT = 4096
"""Tokens, where a server does not say: Ollama's default, beyond which it cuts prompts without a word."""

_MOST_LISTED = 10


async def find_model(client: Client, wanted: str | None) -> tuple[str, int | None]:
    """The model to ask for, and its context in tokens if the server says.

    `wanted` must be among the server's; without it there must be exactly one. Raises ModelNotFoundError, and what
    `Client` raises.
    """
    found = _models(await client.get(f"{client.address.base}/models"), client.address.host)
    name = wanted or (next(iter(found)) if len(found) == 1 else None)
    if name in found:
        return name, _context(found[name]) or await _running_context(client)
    listed = ", ".join(list(found)[:_MOST_LISTED]) or "none"
    problem = f"has no model {name}" if name else f"has {len(found)} models"
    raise ModelNotFoundError(
        f"{client.address.host} {problem}: add one of these to the target's URL behind #: {listed}"
    )


def _models(document: Any, host: str) -> dict[str, dict[str, Any]]:
    try:
        return {str(entry["id"]): entry for entry in document["data"]}
    except (TypeError, LookupError) as error:
        raise TargetProtocolError(f"{host} lists its models in another form than OpenAI's API") from error


def _context(entry: dict[str, Any]) -> int | None:
    """`max_model_len` is vLLM's and SGLang's, `meta` llama-server's, which may run with less than `n_ctx_train`."""
    meta = entry.get("meta")
    return _positive(entry.get("max_model_len")) or _positive(meta.get("n_ctx") if isinstance(meta, dict) else None)


async def _running_context(client: Client) -> int | None:
    """The context that llama-server runs with; other servers lack this page."""
    try:
        properties = await client.get(f"{client.address.root}/props")
    except WinnowError:
        return None
    settings = properties.get("default_generation_settings") if isinstance(properties, dict) else None
    return _positive(settings.get("n_ctx")) if isinstance(settings, dict) else None


def _positive(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None

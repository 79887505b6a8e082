"""Finds the model servers that run on this machine, and what they serve.

The usual loopback ports are asked by GET for `/v1/models`, and a server there for `/api/version`, `/api/tags` and
`/props`. Nothing else is sent, no key and no code; redirects are not followed, and no proxy is used. What answers in
another form, or not in time, is left out.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard
from urllib.parse import quote, urlsplit

import httpx

from winnow_engine.targets.remote.address import HERE, is_loopback
from winnow_engine.targets.remote.model_lookup import context_of_entry, context_of_properties
from winnow_engine.targets.remote.ollama import elsewhere
from winnow_engine.untrusted import json_object

OLLAMA_VARIABLE = "OLLAMA_HOST"
_OLLAMA = "127.0.0.1:11434"
# LM Studio, llama-server, vLLM and SGLang.
_OTHERS = ("127.0.0.1:1234", "127.0.0.1:8080", "127.0.0.1:8000", "127.0.0.1:30000")
_NAMES = {"organization_owner": "LM Studio", "llamacpp": "llama-server", "vllm": "vLLM", "sglang": "SGLang"}
_WINNOW = "winnow"
# What answers the first page is a model server, and worth waiting for.
_WAIT_S, _WAIT_FOR_SERVER_S = 1.0, 3.0
_MOST_BYTES = 1 << 20
_MOST_MODELS, _LONGEST_NAME = 50, 200


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model on a server of this machine. `url` is what `--target` takes.

    `server` is the program's name, as far as it tells. `context` is in tokens; None if the server does not say, or, as
    Ollama, takes it with each request.
    """

    url: str
    server: str
    model: str
    context: int | None


def hosts(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The hosts and ports that are asked: `OLLAMA_HOST` stands for Ollama's if it is on this machine."""
    ollama = _own_host(environment.get(OLLAMA_VARIABLE, "").strip()) or _OLLAMA
    return tuple(dict.fromkeys((ollama, *_OTHERS)))


def discover(asked: tuple[str, ...] | None = None) -> tuple[FoundModel, ...]:
    """Models on servers of this machine, `asked` in place of `hosts()`; 1 to 4 s, on a thread without event loop."""
    return asyncio.run(_discover(hosts() if asked is None else asked))


async def _discover(asked: tuple[str, ...]) -> tuple[FoundModel, ...]:
    async with httpx.AsyncClient(trust_env=False, timeout=None, headers={"Accept-Encoding": "identity"}) as client:
        found = await asyncio.gather(*(_models_at(client, host) for host in asked))
    return tuple(model for models in found for model in models)


async def _models_at(client: httpx.AsyncClient, host: str) -> list[FoundModel]:
    listed = await _json(client, host, "/v1/models", _WAIT_S)
    entries = _entries(listed, "data")
    if not entries or any(entry.get("owned_by") == _WINNOW for entry in entries):
        return []
    version, tags, properties = await asyncio.gather(
        *(_json(client, host, page, _WAIT_FOR_SERVER_S) for page in ("/api/version", "/api/tags", "/props"))
    )
    if isinstance(number := version.get("version"), str) and "models" in tags:
        models = list(_ollama(host, number, _entries(tags, "models")))
    else:
        models = list(_openai(host, entries, context_of_properties(properties)))
    return models[:_MOST_MODELS]


def _ollama(host: str, version: str, entries: list[dict[str, Any]]) -> Iterator[FoundModel]:
    """Ollama's models that run here and can chat. Old versions do not say which can."""
    server = f"Ollama {version}" if _is_name(version) else "Ollama"
    for entry in entries:
        name, able = entry.get("name"), entry.get("capabilities")
        chats = not isinstance(able, list) or "completion" in able
        if _is_name(name) and chats and not elsewhere(name, entry):
            yield FoundModel(_url(host, name), server, name, None)


def _openai(host: str, entries: list[dict[str, Any]], running: int | None) -> Iterator[FoundModel]:
    for entry in entries:
        name = entry.get("id")
        if _is_name(name):
            server = _NAMES.get(str(entry.get("owned_by")), "an OpenAI-compatible server")
            yield FoundModel(_url(host, name), server, name, context_of_entry(entry) or running)


def _url(host: str, model: str) -> str:
    return f"http://{host}/v1#{quote(model, safe='/:')}"


def _is_name(name: object) -> TypeGuard[str]:
    """True for a name that can be shown on a terminal."""
    return isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME and name.isprintable()


def _entries(document: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    found = document.get(name)
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


async def _json(client: httpx.AsyncClient, host: str, page: str, wait_s: float) -> dict[str, Any]:
    """The JSON object on a page; {} for anything else."""
    try:
        async with asyncio.timeout(wait_s), client.stream("GET", f"http://{host}{page}") as response:
            return (json_object(await _body(response)) if response.status_code == httpx.codes.OK else None) or {}
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError, ValueError):
        return {}


async def _body(response: httpx.Response) -> bytes:
    """The body as it was sent. Raises ValueError if it is too long."""
    body = b""
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > _MOST_BYTES:
            raise ValueError("too long")
    return body


def _own_host(written: str) -> str | None:
    """`OLLAMA_HOST` as host and port if it is this machine: an address to listen on counts as the loopback's."""
    try:
        parts = urlsplit(written if "://" in written else f"//{written}")
        name, port = parts.hostname or "127.0.0.1", parts.port
    except ValueError:
        return None
    name = HERE.get(name, name)
    if not written or parts.scheme not in ("", "http") or not is_loopback(name):
        return None
    return f"{f'[{name}]' if ':' in name else name}:{port or (80 if parts.scheme else 11434)}"

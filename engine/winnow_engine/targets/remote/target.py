"""The target on an OpenAI-compatible server, such as vLLM, SGLang, llama-server, Ollama, or another Winnow."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import httpx

from winnow_engine.core import Cancellation, Progress, Sampling, Thinking
from winnow_engine.errors import (
    BudgetError,
    SchemaError,
    TargetError,
    TargetProtocolError,
    TargetTimeoutError,
    TargetUnreachableError,
    ThoughtRoomError,
)
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import NO_TOOLS, Tools
from winnow_engine.targets.base import Generation, Request
from winnow_engine.targets.remote.address import KEY_VARIABLE, Address
from winnow_engine.targets.remote.client import Client, RetryPolicy
from winnow_engine.targets.remote.failures import reason, refused_fields
from winnow_engine.targets.remote.framing import DONE
from winnow_engine.targets.remote.model_lookup import UNKNOWN_CONTEXT, Route, estimate, find_model, find_route
from winnow_engine.targets.remote.ollama import OllamaApi, find_ollama
from winnow_engine.targets.remote.openai_api import Attempt, OpenAiApi, RemotePrompt, without
from winnow_engine.targets.remote.reply import StreamedReply
from winnow_engine.targets.text_stream import cut_notice

T = TypeVar("T")

_POLL_S = 0.02
# What servers name when they refuse the format of an answer.
_OF_FORMATS = ("response_format", "json_schema", "json_object", "schema", "format", "grammar")
# The fields that servers do not take, by their address and model, for as long as this process lives.
_refused_by: dict[tuple[str, str], set[str]] = {}
# A chat template adds at most this many tokens per conversation and per message, in the templates of 2026.
_TEMPLATE_TOKENS, _MESSAGE_TOKENS = 24, 8
# It adds these per call, and once to explain tools: 20 and 110 tokens with Qwen2.5, 350 with Qwen3-Coder.
_CALL_TOKENS, _TOOLS_TOKENS = 32, 400
# Tokens by which a thought may exceed its limit, for a server that ends it by itself.
_GRACE = 16
# A model that thinks although it was asked again not to may do so for this many times the limit.
_LONGEST_THOUGHT = 8


class HttpTarget:
    """A `Target` on a server. Each call has its own connection, so there is nothing to keep open."""

    parameters: int | None = None  # unknown
    prefill_tokens_per_s: float | None = None  # unknown: a server may have read a prompt before, or others first

    def __init__(self, address: Address, key: str | None, policy: RetryPolicy) -> None:
        """Do not call this; use `open`, which also asks the server about its model."""
        self._address, self._key, self._policy = address, key, policy
        self.place = "server"
        self.host = None if address.loopback else address.host
        self.model, self.context_limit = address.model or "", UNKNOWN_CONTEXT
        self.context_known = False
        self._api = OpenAiApi()
        self._route: Route | None = None
        self._thinks = False  # has thought although asked not to
        self._refused: set[str] = set()  # fields that the server does not take; `open` sets it
        self._closed = False

    @classmethod
    def open(cls, address: Address, context_limit: int | None = None, policy: RetryPolicy | None = None) -> HttpTarget:
        """Find the model and, unless given, its context. Raises TargetError, ModelNotFoundError, TargetAddressError."""
        key = os.environ.get(KEY_VARIABLE, "").strip() or None
        target = cls(address, key, policy or RetryPolicy())
        target._run(lambda client: target._inquire(client, context_limit))
        target._refused = _refused_by.setdefault((address.base, target.model), set())
        return target

    @property
    def counts(self) -> str:
        """The method that counts tokens, in words."""
        return f"by {self._route.name} {self._route.path}" if self._route else "estimated from bytes"

    def count(self, text: str) -> int:
        """The number of tokens that `text` takes: as the server counts, or an estimate that is rather too high."""
        route = self._route
        if route is None:
            return estimate(text)
        try:
            return self._run(lambda client: route.count(client, self.model, text))
        except ValueError as error:
            raise TargetProtocolError(f"{self._address.host}: {error}") from error

    def thinking_tokens(self, sampling: Sampling) -> int:
        """Tokens reserved for a thought; 0 until a server is seen to think unasked."""
        return self._thought_limit(sampling) + _GRACE if self._thinks or sampling.thinking == "on" else 0

    def _thought_limit(self, sampling: Sampling) -> int:
        return min(sampling.thinking_tokens, self.context_limit // 4)

    def chat_prompt(
        self, messages: Sequence[Message], tools: Tools = NO_TOOLS, thinking: Thinking = "auto"
    ) -> RemotePrompt:
        """The conversation, for the server's own chat template. Whether it thinks stands in the request."""
        texts = [message.content for message in messages]
        calls = [call for message in messages for call in message.calls]
        functions = [json.dumps(one) for one in tools.definitions]
        said = self.count("\n".join([*texts, *(f"{call.name} {call.arguments}" for call in calls), *functions]))
        template = _TEMPLATE_TOKENS + _MESSAGE_TOKENS * len(messages) + _CALL_TOKENS * len(calls)
        return RemotePrompt(tuple(messages), tools, template + said + (_TOOLS_TOKENS if tools else 0))

    def seconds_to_read(self, prompt: RemotePrompt) -> float | None:
        """Unknown, as `prefill_tokens_per_s` is."""
        return None

    def unread(self, prompt: RemotePrompt) -> int | None:
        """Unknown: a server does not say before it reads."""
        return None

    def generate(self, request: Request[RemotePrompt]) -> Generation:
        """Answer a request. Attempts are repeated before the first token only.

        A model that thinks unasked is asked again with room for that, or ThoughtRoomError raised if the prompt leaves
        too little; one that thinks too long is asked once more not to think.
        """
        need, most = len(request.prompt), request.sampling.max_tokens
        left = self.context_limit - need - most
        if left < 0:
            raise BudgetError(
                f"the prompt's {need} tokens and up to {most} of the answer exceed the context "
                f"of {self.context_limit} on {self._address.host}: lower the budget or the answer's length"
            )
        request.progress(Progress("prefill", 0, need))
        reply, notices = StreamedReply(request), tuple[str, ...]()
        for attempt in self._attempts(request.sampling):
            self._ask(request, reply, replace(attempt, room=min(attempt.room, left)))
            if request.cancellation.cancelled or not reply.only_thought:
                return reply.generation(notices)
            self._thinks = True
            if not attempt.softly and left < (room := self.thinking_tokens(request.sampling)):
                raise ThoughtRoomError(
                    f"the model on {self._address.host} thinks, and the prompt leaves {left} of {room} tokens for "
                    "that: lower the budget or the answer's length"
                )
            notices = (f"{cut_notice(reply.thought_tokens)}; it was asked again, not to think",) if attempt.room else ()
        raise TargetError(
            f"the model on {self._address.host} thinks without end, even when asked not to: have the server "
            "limit its thinking, or choose another model"
        )

    def _attempts(self, sampling: Sampling) -> Iterator[Attempt]:
        """Attempts, until there is more than a thought. Without room for a thought, it is stopped where it begins."""
        limit = self._thought_limit(sampling)
        if not self.thinking_tokens(sampling):
            yield Attempt(sampling.thinking, 0, 0)
        yield Attempt(sampling.thinking, limit + _GRACE, limit)
        yield Attempt("off", _LONGEST_THOUGHT * limit, None, softly=True)

    def _ask(self, request: Request[RemotePrompt], reply: StreamedReply, attempt: Attempt) -> None:
        """Make an attempt, without fields that the server refuses. SchemaError if it refuses the answer's format."""
        document, left_out = self._api.body(self.model, request, attempt), set(self._refused)
        while True:
            reply.begin(attempt)
            sent = without(document, left_out)
            try:
                self._run(lambda c: _unless_cancelled(self._stream(c, request, sent, reply), request.cancellation))  # noqa: B023
            except TargetError as error:
                refused = refused_fields(error.said, self._api.optional(attempt)) & sent.keys()
                if not refused or reply.begun:
                    self._check_format(request, error)
                    raise
                left_out |= refused
            else:
                self._refused |= left_out
                return

    def _check_format(self, request: Request[RemotePrompt], error: TargetError) -> None:
        """Raise SchemaError if the server refused the format of an answer, which changes what the answer means."""
        if request.format and refused_fields(error.said, _OF_FORMATS):
            message = f"{self._address.host} does not take {request.format.field}: {reason(error.said)}"
            raise SchemaError(request.format.field, message) from error

    def close(self) -> None:
        """Refuse further calls."""
        self._closed = True

    async def _inquire(self, client: Client, context_limit: int | None) -> None:
        self.model, served = await find_model(client, self._address.model)
        if not served and (ollama := await find_ollama(client, self.model)):
            context_limit = ollama.limit(context_limit)
            self._api = OllamaApi(ollama.now, context_limit)
        self.context_known = bool(context_limit or served)
        self.context_limit = context_limit or served or UNKNOWN_CONTEXT
        self._route = await find_route(client, self.model)

    async def _stream(
        self, client: Client, request: Request[RemotePrompt], document: dict[str, Any], reply: StreamedReply
    ) -> None:
        loop, policy, tools, api = asyncio.get_running_loop(), self._policy, request.prompt.tools, self._api
        done = False
        try:
            async with (
                asyncio.timeout(policy.first_token_s) as limit,
                client.stream(api.url(self._address), document, api.framing) as events,
            ):
                async for data in events:
                    if done := data == DONE:
                        break
                    chunk = api.read(data, self._address, request.sampling.stop, tools)
                    if not reply.add(chunk):
                        return
                    if chunk.finish or chunk.grew:
                        wait = policy.after_last_s if reply.finish else policy.next_s(bool(tools))
                        limit.reschedule(loop.time() + wait)
        except TimeoutError:
            if not reply.finish:
                raise TargetTimeoutError(f"{self._address.host} sent {reply.late(policy, bool(tools))}") from None
        if not reply.finish and not reply.end(done):
            raise TargetProtocolError(f"{self._address.host} {reply.broken_off(self.context_limit)}")

    def _run(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """Do `work` with a client and an event loop of its own: callers are on threads that have none."""
        if self._closed:
            raise TargetError("the target is closed: open it again")

        async def run() -> T:
            async with Client(self._address, self._key, self._policy, self._tls) as client:
                return await work(client)

        return asyncio.run(run())

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """Verifies certificates. It is cached because reading all authorities takes about 20 ms."""
        try:
            return httpx.create_ssl_context()
        except OSError as error:
            raise TargetUnreachableError(
                f"the certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read: {error}"
            ) from error


async def _unless_cancelled(work: Awaitable[None], cancellation: Cancellation) -> None:
    """Do `work`, or abandon it within 20 ms of a cancellation."""
    task = asyncio.ensure_future(work)
    while not task.done() and not cancellation.cancelled:
        await asyncio.wait((task,), timeout=_POLL_S)
    if not task.done():
        task.cancel()
        await asyncio.wait((task,))
    if not task.cancelled():
        task.result()

"""The routes of a server: the APIs of one service, `/v1/models`, and `/health`."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, TypeVar
from weakref import WeakSet

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from winnow_engine.chat.complete import Completion
from winnow_engine.chat.turn import TurnPieceSink
from winnow_engine.config import ModelConfig
from winnow_engine.errors import WinnowError
from winnow_engine.storage.store import Store
from winnow_lsp.http.answering import Answering
from winnow_lsp.http.dialect import ApiReply, Dialect
from winnow_lsp.http.embeddings import EmbeddingRequest, embeddings
from winnow_lsp.http.embeddings import read_request as read_embedding
from winnow_lsp.http.fields import ApiError, api_error
from winnow_lsp.http.guard import Guard, listening_socket, read_body, web_server
from winnow_lsp.http.messages import MESSAGES
from winnow_lsp.http.replies import CHAT, COMPLETIONS
from winnow_lsp.http.requests import ChatRequest
from winnow_lsp.http.responses import RESPONSES
from winnow_lsp.http.serving import EngineService

_log = logging.getLogger(__name__)
_BODY_TIMEOUT_S = 60
MOST_REQUESTS = 64  # what is read or answered at once, by all users; connections on which nothing is asked do not count
IGNORED_HEADER = "X-Winnow-Ignored"
PING_S = 8.0  # clients and proxies give up where nothing comes for half a minute
_HEADERS_S = 1.0
_UNSAFE = re.compile(r"[^\w.:/\[\]-]", re.ASCII)
_LONGEST_NAME, _MOST_NAMES = 64, 32
_LEFT = 499  # nobody reads it; as nginx logs it
T = TypeVar("T")
Endpoint = Callable[[Dialect, Request], Awaitable[Response]]


def serve_http(
    models: ModelConfig,
    store: Store,
    budget: int,
    host: str,
    port: int,
    guard: Guard,
    ready: Callable[[str, int], None],
    aliases: tuple[str, ...] = (),
) -> None:
    """Serve until told to stop; `ready` gets the address. Raises OSError if the address is not available."""
    with listening_socket(host, port) as listening:
        application = app(lambda: EngineService(models, store, budget, aliases), guard)
        ready(*listening.getsockname()[:2])
        web_server(application, partial(stop_answers, application)).run([listening])


def app(open_service: Callable[[], EngineService], guard: Guard) -> Starlette:
    """The ASGI application. It opens its service when its event loop starts, and closes it at the end."""

    @asynccontextmanager
    async def lifespan(application: Starlette) -> AsyncIterator[None]:
        service = application.state.service = open_service()
        yield
        await service.close()

    def route(path: str, endpoint: Endpoint, dialect: Dialect = CHAT, method: str = "POST") -> Route:
        return Route(path, partial(_guarded, endpoint, dialect), methods=[method])

    routes = [
        route("/v1/chat/completions", _answer),
        route("/v1/completions", _answer, COMPLETIONS),
        route("/v1/responses", _answer, RESPONSES),
        route("/v1/responses/input_tokens", _count, RESPONSES),
        route("/v1/messages", _answer, MESSAGES),
        route("/v1/messages/count_tokens", _count, MESSAGES),
        route("/v1/embeddings", _embed),
        route("/v1/models", _models, method="GET"),
        route("/v1/models/{name:path}", _model, method="GET"),
        route("/health", _health, method="GET"),
    ]
    refuse: Any = _refused
    application = Starlette(
        routes=routes, middleware=_middleware(guard), lifespan=lifespan, exception_handlers={HTTPException: refuse}
    )
    application.state.guard, application.state.requests = guard, 0
    application.state.answers = WeakSet[Answering[Any]]()
    application.router.redirect_slashes = False
    return application


def stop_answers(application: Starlette) -> bool:
    """End the answers in progress with an error. False if there are none."""
    stopped = [answer.stop() for answer in application.state.answers]
    return any(stopped)


def _middleware(guard: Guard) -> list[Middleware]:
    if not guard.origins:
        return [Middleware(_Counted)]
    cors = Middleware(
        CORSMiddleware,
        allow_origins=guard.origins,
        allow_methods=("GET", "POST"),
        allow_headers=("*",),  # those that the page asks for
        expose_headers=(IGNORED_HEADER,),
    )
    return [cors, Middleware(_Counted)]


class _Counted:
    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._application(scope, receive, send)
        state = scope["app"].state
        state.requests += 1
        try:
            await self._application(scope, receive, send)
        except asyncio.CancelledError:
            pass  # the server has stopped, and waits no longer
        finally:
            state.requests -= 1


async def _guarded(endpoint: Endpoint, dialect: Dialect, request: Request) -> Response:
    try:
        request.state.user = request.app.state.guard.check(request)
        return await endpoint(dialect, request)
    except ClientDisconnect:
        return Response(status_code=_LEFT)
    except Exception as error:
        told = _told(error)
        return JSONResponse(dialect.error(told), told.status, told.headers)


async def _models(_dialect: Dialect, request: Request) -> Response:
    service = _service(request)
    return JSONResponse(service.model.list(service.context_limit))


async def _model(_dialect: Dialect, request: Request) -> Response:
    service = _service(request)
    name = service.model.asked(request.path_params["name"])
    return JSONResponse(service.model.entry(name, service.context_limit))


async def _health(_dialect: Dialect, request: Request) -> Response:
    """200 once both models are loaded; 503 until then, and if one cannot be loaded."""
    states = _service(request).states
    failures = [state.error for state in states if state.error]
    ready = all(state.state == "ready" for state in states)
    document: dict[str, Any] = {"status": "error" if failures else "ok" if ready else "loading"}
    return JSONResponse(document | ({"error": failures[0]} if failures else {}), 200 if ready else 503)


async def _answer(dialect: Dialect, request: Request) -> Response:
    service = _service(request)
    wanted = replace(dialect.read(await _body(request), service.model), user=request.state.user)
    answer, reply = _begun(request, partial(service.complete, wanted)), dialect.reply(wanted)
    if not wanted.stream:
        return JSONResponse(reply.whole(await answer.completion()), headers=_notes(wanted))
    await answer.begun(_HEADERS_S)  # an error until then still has its status
    headers = {"X-Accel-Buffering": "no", "Cache-Control": "no-cache", **_notes(wanted)}
    return StreamingResponse(_events(answer, reply, dialect.ping), headers=headers, media_type="text/event-stream")


async def _count(dialect: Dialect, request: Request) -> Response:
    service, read = _service(request), dialect.read_count or dialect.read
    wanted = replace(read(await _body(request), service.model), user=request.state.user)
    tokens = await _begun(request, lambda _: service.count(wanted)).completion()
    return JSONResponse({**dialect.counted, "input_tokens": tokens}, headers=_notes(wanted))


async def _embed(_dialect: Dialect, request: Request) -> Response:
    service = _service(request)
    wanted = read_embedding(await _body(request), service.encoder)
    found = _begun(request, lambda _: service.embed(wanted.texts, request.state.user))
    return JSONResponse(embeddings(wanted, *await found.completion()), headers=_notes(wanted))


def _begun(request: Request, begin: Callable[[TurnPieceSink], Coroutine[Any, Any, T]]) -> Answering[T]:
    """An answer that `stop_answers` ends."""
    answer = Answering(begin, request)
    request.app.state.answers.add(answer)
    return answer


def _service(request: Request) -> EngineService:
    service: EngineService = request.app.state.service
    return service


async def _body(request: Request) -> bytes:
    if request.app.state.requests > MOST_REQUESTS:
        raise ApiError(503, f"{MOST_REQUESTS} requests are in progress: try again in a moment", code="overloaded")
    try:
        async with asyncio.timeout(_BODY_TIMEOUT_S):
            return await read_body(request)
    except TimeoutError:
        raise ApiError(408, f"the body did not come within {_BODY_TIMEOUT_S} s") from None


def _notes(wanted: ChatRequest | EmbeddingRequest) -> dict[str, str]:
    """The header that names the fields which were left out; the log names each once. Some names are the client's."""
    names = [_UNSAFE.sub("?", name[:_LONGEST_NAME]) for name in wanted.ignored[:_MOST_NAMES]]
    for name in names:
        _log_once(name)
    return {IGNORED_HEADER: ", ".join(names)} if names else {}


@lru_cache(maxsize=256)
def _log_once(name: str) -> None:
    _log.warning("left out of a request, as not supported here: %s", name)


async def _events(answer: Answering[Completion], reply: ApiReply, ping: bytes) -> AsyncIterator[bytes]:
    try:
        yield reply.first()
        while True:
            try:
                if (piece := await answer.piece(PING_S)) is None:
                    break
                yield reply.piece(piece)
            except TimeoutError:
                yield ping
        yield reply.last(await answer.completion())
    except ClientDisconnect:
        pass
    except Exception as error:
        yield reply.failed(_told(error))
    finally:
        await answer.close()


def _told(error: Exception) -> ApiError:
    if isinstance(error, ApiError):
        return error
    if isinstance(error, WinnowError):
        return api_error(error)
    _log.error("a request failed", exc_info=error)
    return ApiError(500, "Winnow failed, which is a bug: the server's log says where", code="bug")


def _refused(request: Request, error: HTTPException) -> Response:
    """Unknown paths and methods, in the form of the API that the path is of."""
    path, status = request.url.path, error.status_code
    said = f"there is no {path}: OpenAI's base URL ends in /v1, Anthropic's does not" if status == 404 else error.detail
    dialect = MESSAGES if path.startswith("/v1/messages") else CHAT
    return JSONResponse(dialect.error(ApiError(status, said)), status, error.headers)

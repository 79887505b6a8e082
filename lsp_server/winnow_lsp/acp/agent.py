"""Winnow as an agent: sessions, each a conversation about one folder, and the prompts in them."""

from __future__ import annotations

import importlib.metadata
import logging
import os
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from winnow_engine.config import FileRules
from winnow_engine.core import Cancellation
from winnow_engine.errors import CancelledError, WinnowError
from winnow_engine.question import Question, Turn
from winnow_lsp.acp.messages import (
    FAILED,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NOT_FOUND,
    Identity,
    JsonRpcLines,
    RequestError,
    Updates,
    question_of,
    text_of,
)
from winnow_lsp.client.connection import Listener
from winnow_lsp.host.reply import Reply
from winnow_lsp.host.roots import is_everything

PROTOCOL_VERSION = 1
_STOP_WAIT_S = 10.0  # for work to stop once the client has gone
# What is not offered is left out: agent-shell takes a `false` for an offer.
_CAPABILITIES = {"promptCapabilities": {"embeddedContext": True}}
_log = logging.getLogger(__name__)

Answerer = Callable[[Path, Question, Listener, Cancellation], Reply]
"""Answers a question about a folder. Raises what the engine raises. Called on a thread of its own."""


@dataclass
class _Session:
    """A conversation. `running` is the cancellation of the prompt that is being answered."""

    identity: str
    folder: Path
    turns: list[Turn] = field(default_factory=list)
    running: Cancellation | None = None
    prompts: int = 0


class AcpAgent:
    """Serves one client until it leaves. It asks the client for nothing: no file, no terminal, no permission."""

    def __init__(self, lines: JsonRpcLines, answer: Answerer, rules: FileRules | None = None) -> None:
        self._lines, self._answer, self._rules = lines, answer, rules
        self._sessions: dict[str, _Session] = {}
        self._threads: set[threading.Thread] = set()

    def serve(self) -> None:
        """Answer until the client closes its end; then all work stops."""
        try:
            for message in self._lines.messages():
                self._take(message)
        finally:
            for session in self._sessions.values():
                _cancel(session)
            for thread in tuple(self._threads):
                thread.join(_STOP_WAIT_S)

    def _take(self, message: Mapping[str, Any]) -> None:
        method, params = message["method"], message.get("params", {})
        if "id" not in message:
            if method == "session/cancel" and isinstance(params, dict):
                _cancel(self._sessions.get(str(params.get("sessionId"))))
            return
        identity = message["id"]
        try:
            if not isinstance(params, dict):
                raise RequestError(INVALID_PARAMS, "params must be an object")
            if method == "session/prompt":
                self._prompt(identity, params)
            elif method == "initialize":
                self._lines.reply(identity, _introduction())
            elif method == "session/new":
                self._lines.reply(identity, self._new(params))
            else:
                raise RequestError(METHOD_NOT_FOUND, f"Winnow has no method {method}")
        except Exception as error:
            self._lines.refuse(identity, _refusal(error))

    def _new(self, params: Mapping[str, Any]) -> dict[str, Any]:
        session = _Session(str(uuid.uuid4()), _folder(text_of(params, "cwd")))
        self._sessions[session.identity] = session
        return {"sessionId": session.identity}

    def _prompt(self, identity: Identity, params: Mapping[str, Any]) -> None:
        session = self._sessions.get(text_of(params, "sessionId"))
        if session is None:
            raise RequestError(NOT_FOUND, "there is no such session: begin a new one")
        if session.running is not None:
            raise RequestError(INVALID_REQUEST, "this session answers a prompt already: cancel it, or wait")
        question = question_of(params.get("prompt"), session.folder, tuple(session.turns), self._rules)
        cancellation = session.running = Cancellation()
        session.prompts += 1
        thread = threading.Thread(target=self._work, args=(identity, session, question, cancellation), daemon=True)
        self._threads = {alive for alive in self._threads if alive.is_alive()} | {thread}
        thread.start()

    def _work(self, identity: Identity, session: _Session, question: Question, cancellation: Cancellation) -> None:
        error, reason = None, "cancelled"
        try:
            reason = self._stream(session, question, cancellation)
        except CancelledError:
            pass
        except Exception as failed:
            error = _refusal(failed)
        session.running = None
        if error is None or cancellation.cancelled:
            self._lines.reply(identity, {"stopReason": reason})
        else:
            self._lines.refuse(identity, error)

    def _stream(self, session: _Session, question: Question, cancellation: Cancellation) -> str:
        """Stream the answer and remember it as a turn. Returns the stop reason."""

        def update(body: Mapping[str, Any]) -> None:
            self._lines.notify("session/update", {"sessionId": session.identity, "update": body})

        updates = Updates(update, session.folder, f"{session.identity}-{session.prompts}")
        updates.begin()
        try:
            listener = Listener(updates.text, updates.kept, updates.stage, updates.thought)
            reply = self._answer(session.folder, question, listener, cancellation)
            cancellation.check()
        except BaseException:
            updates.abandon()
            if cancellation.cancelled and (said := updates.notes.text):  # a follow-up knows what was shown
                session.turns.append(Turn(question.text, said))
            raise
        updates.end(reply)
        session.turns.append(Turn(question.text, reply.answer))
        return "max_tokens" if reply.finish == "length" else "end_turn"


def _refusal(error: Exception) -> RequestError:
    if isinstance(error, RequestError):
        return error
    if isinstance(error, WinnowError):
        return RequestError(FAILED, str(error), type(error).__name__)
    _log.error("a request failed", exc_info=error)
    return RequestError(FAILED, f"Winnow failed, which is a bug: {error!r}", "bug")


def _introduction() -> dict[str, Any]:
    """Every version but this one is the client's to speak or to leave, as the protocol says."""
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentCapabilities": _CAPABILITIES,
        "agentInfo": {"name": "winnow", "title": "Winnow", "version": importlib.metadata.version("winnow-lsp")},
        "authMethods": [],
    }


def _folder(cwd: str) -> Path:
    """The folder of a session. Raises RequestError if it is not an absolute path of a directory, or all there is."""
    folder = Path(os.path.normpath(cwd))
    try:
        found = folder.is_absolute() and folder.is_dir()
    except (OSError, ValueError):  # half a surrogate pair, a NUL
        found = False
    if not found:
        raise RequestError(INVALID_PARAMS, f"cwd is not the absolute path of a directory: {cwd}", "WorkspaceError")
    if is_everything(folder):
        raise RequestError(INVALID_PARAMS, f"{folder} is no repository: open the folder of one", "WorkspaceError")
    return folder


def _cancel(session: _Session | None) -> None:
    if session is not None and (running := session.running) is not None:
        running.cancel()

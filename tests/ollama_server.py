"""A process that speaks Ollama's API as its sources do (version 0.33), and cuts prompts as Ollama does.

A token is a word. Its model answers with what it saw: the context in tokens, and the first word of each message. Its
log, at `/log`, has every request. Ollama itself cannot be installed where these tests run.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DEFAULT_CONTEXT = 4096
LONGEST = 40_960
MODELS: dict[str, dict[str, Any]] = {
    "coder:7b": {"capabilities": ["completion", "tools"]},
    "thinker:8b": {"capabilities": ["completion", "tools", "thinking"]},
    "embedder:latest": {"capabilities": ["embedding"]},
    "huge:480b-cloud": {"remote_host": "https://ollama.com:443", "remote_model": "huge:480b", "capabilities": []},
}


@contextmanager
def serving() -> Iterator[str]:
    """The server's URL, without a path."""
    process = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True)
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


class Refusal(Exception):  # noqa: N818
    """A status and what is wrong."""


class Ollama:
    """The state of the server."""

    def __init__(self) -> None:
        self.log: list[list[Any]] = []
        self.loaded: dict[str, int] = {}

    def version(self, _: Any) -> Any:
        return {"version": "0.33.0"}

    def tags(self, _: Any) -> Any:
        return {"models": [{"name": name, "model": name, "size": 10**9, **entry} for name, entry in MODELS.items()]}

    def models(self, _: Any) -> Any:
        entries = [{"id": name, "object": "model", "created": 1, "owned_by": "library"} for name in MODELS]
        return {"object": "list", "data": entries}

    def ps(self, _: Any) -> Any:
        return {"models": [{"name": name, "model": name, "context_length": n} for name, n in self.loaded.items()]}

    def show(self, document: Any) -> Any:
        entry = self._entry(document)
        information = {"general.architecture": "qwen2", "qwen2.context_length": LONGEST}
        return {"parameters": 'stop    "<|im_end|>"', "details": {}, "model_info": information, **entry}

    def chat(self, document: Any) -> Iterator[Any]:
        """Events as `ChatHandler` sends them. The oldest messages are cut unless `truncate` is false."""
        entry, options = self._entry(document), document.get("options") or {}
        if document.get("think") and "thinking" not in entry["capabilities"]:
            raise Refusal(400, f'"{document["model"]}" does not support thinking')
        context = min(options.get("num_ctx", DEFAULT_CONTEXT), LONGEST)
        self.loaded[document["model"]] = context
        seen = self._fitted(document, context)
        words = [f"context={context}", *(message["content"].split()[0] for message in seen)]
        yield from self._events(document, words[: options.get("num_predict", 99)], len(words), _size(seen))

    def _fitted(self, document: Any, context: int) -> list[Any]:
        messages = document["messages"]
        if document.get("truncate", True):
            while len(messages) > 1 and _size(messages) > context:
                messages = messages[1:]
        elif _size(messages) > context:
            raise Refusal(400, "the input length exceeds the context length")
        return messages

    def _events(self, document: Any, said: list[str], wanted: int, read: int) -> Iterator[Any]:
        common = {"model": document["model"], "created_at": "2026-08-21T00:00:00Z"}
        if document.get("think"):
            yield {**common, "message": {"role": "assistant", "content": "", "thinking": "Hm."}, "done": False}
        for tool in document.get("tools", []):
            call = {"id": "call_1", "function": {"index": 0, "name": tool["function"]["name"], "arguments": {"a": 1}}}
            yield {**common, "message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": False}
        for word in said:
            yield {**common, "message": {"role": "assistant", "content": f"{word} "}, "done": False}
        end = {"done_reason": "length" if len(said) < wanted else "stop", "prompt_eval_count": read}
        yield {**common, "message": {"role": "assistant", "content": ""}, "done": True, "eval_count": len(said), **end}

    def _entry(self, document: Any) -> dict[str, Any]:
        if document["model"] not in MODELS:
            raise Refusal(404, f"model '{document['model']}' not found")
        return MODELS[document["model"]]


def _size(messages: list[Any]) -> int:
    return sum(len(message["content"].split()) for message in messages)


class Handler(BaseHTTPRequestHandler):
    """Routes as in Ollama's `server/routes.go`."""

    ollama = Ollama()

    def handle_any(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        document = json.loads(self.rfile.read(length)) if length else None
        if self.path == "/log":
            return self.send(200, self.ollama.log)
        self.ollama.log.append([self.command, self.path, dict(self.headers), document])
        names = {"GET": ("version", "tags", "ps"), "POST": ("show", "chat")}[self.command]
        routes = {f"/api/{name}": name for name in names} | {"/v1/models": "models"}
        if self.path not in routes:
            return self.send(404, {"error": "404 page not found"})
        try:
            answer = getattr(self.ollama, routes[self.path])(document)
            return self.stream(answer) if routes[self.path] == "chat" else self.send(200, answer)
        except Refusal as refusal:
            return self.send(refusal.args[0], {"error": refusal.args[1]})

    do_GET = do_POST = handle_any  # noqa: N815

    def send(self, status: int, document: Any) -> None:
        self.begin(status, "application/json; charset=utf-8")
        self.wfile.write(json.dumps(document).encode())

    def stream(self, documents: Iterator[Any]) -> None:
        first = next(documents)  # what is refused has a status of its own
        self.begin(200, "application/x-ndjson")
        for document in (first, *documents):
            self.wfile.write(json.dumps(document).encode() + b"\n")

    def begin(self, status: int, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.end_headers()

    def log_message(self, *_arguments: Any) -> None:
        """Tests print nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()

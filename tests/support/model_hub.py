"""A model hub on 127.0.0.1 that speaks the hub's API to `huggingface_hub`, and can misbehave."""

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

import pytest
from http_servers import running
from huggingface_hub import constants

COMMIT = "c" * 40
REPOSITORY = "acme/tiny-GGUF"


@dataclass
class ModelHub:
    """The files of one repository, and how they are sent. `ranges` has the Range headers of downloads.

    `hold` keeps a connection open after the last byte until it is set. `told` overrides what the API says of a file.
    """

    files: dict[str, bytes]
    base: str = ""
    status: int | None = None
    honours_range: bool = True
    hangs_up_after: int | None = None
    endless: bool = False
    redirects_for_ever: bool = False
    hold: threading.Event | None = None
    told: dict[str, dict[str, Any]] = field(default_factory=dict)
    on_request: Callable[[], object] = lambda: None
    ranges: list[str] = field(default_factory=list)
    tokens: set[str | None] = field(default_factory=set)

    def url(self, file: str) -> str:
        return f"{self.base}/{REPOSITORY}/resolve/main/{file}"

    def respond(self, handler: BaseHTTPRequestHandler) -> None:
        path, wanted = unquote(handler.path.partition("?")[0]), handler.headers.get("Range", "")
        self.tokens.add(handler.headers.get("Authorization"))
        if self.redirects_for_ever:
            _redirect(handler, path)
        elif path.startswith("/api/models/"):
            self._list(handler)
        elif (file := re.sub(rf"^/{REPOSITORY}/resolve/(main|{COMMIT})/", "", path)) != path:
            _redirect(handler, f"/cdn/{file}", {"X-Repo-Commit": COMMIT})
        else:
            self._send(handler, self.files.get(path.removeprefix("/cdn/"), b""), wanted)

    def _list(self, handler: BaseHTTPRequestHandler) -> None:
        listed = {name: _entry(name, data) | self.told.get(name, {}) for name, data in self.files.items()}
        card = {"license": "apache-2.0"}
        document = {"id": REPOSITORY, "sha": COMMIT, "siblings": list(listed.values()), "cardData": card, "tags": []}
        body = json.dumps(document).encode()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def _send(self, handler: BaseHTTPRequestHandler, content: bytes, wanted: str) -> None:
        probe = re.fullmatch(r"bytes=\d+-\d+", wanted)
        if not probe:
            self.ranges.append(wanted)
            self.on_request()
        if self.status is not None:
            handler.send_error(self.status)
            return
        size = len(content)
        start, end = [int(number or 0) for number in (wanted.removeprefix("bytes=") or "0-").split("-")]
        start, end = (start, min(end + 1, size) if end else size) if self.honours_range else (0, size)
        handler.send_response(206 if wanted and self.honours_range else 200)
        if wanted and self.honours_range:
            handler.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        handler.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        if not self.endless or probe:
            handler.send_header("Content-Length", str(end - start))
        handler.end_headers()
        while self.endless and not probe:
            handler.wfile.write(content)
        handler.wfile.write(content[start:end][: None if probe else self.hangs_up_after])
        if self.hangs_up_after is not None and not probe:
            self.status = 503 if self.hold is None else None
        if self.hold is not None and not probe:
            handler.wfile.flush()
            assert self.hold.wait(timeout=120)


def _redirect(handler: BaseHTTPRequestHandler, to: str, headers: dict[str, str] | None = None) -> None:
    handler.send_response(302)
    for name, value in {"Location": to, "Content-Length": "0", **(headers or {})}.items():
        handler.send_header(name, value)
    handler.end_headers()


def _entry(name: str, data: bytes) -> dict[str, Any]:
    lfs = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
    return {"rfilename": name, "size": len(data), "blobId": "b" * 40, "lfs": lfs}


@contextmanager
def serving(files: dict[str, bytes], patch: pytest.MonkeyPatch) -> Iterator[ModelHub]:
    """Serve files as the only hub of this process, in pieces that a test can count."""
    hub = ModelHub(files)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with suppress(ConnectionError):  # clients that hang up are part of the tests
                hub.respond(self)

        def log_message(self, *_: object) -> None:
            pass

    with running(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        hub.base = f"http://127.0.0.1:{server.server_port}"
        patch.setattr(constants, "ENDPOINT", hub.base)
        template = f"{hub.base}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        patch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 1 << 16)
        yield hub

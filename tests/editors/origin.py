"""A package index and a model hub on this machine, which serve real files and stall once each.

pip finds the index by its own variables. The hub is reached as its clients do behind a proxy: through CONNECT, with a
certificate that is vouched for by SSL_CERT_FILE.
"""

import os
import re
import select
import ssl
import subprocess
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

_TRICKLE_S = 0.5
_BLOCK = 1 << 20


class Origin(ThreadingHTTPServer):
    """Serves `wheel`, the adapter, as the one package of an index, and `model` under any name of `host`, by HTTPS."""

    daemon_threads = True

    def __init__(self, home: Path, wheel: Path, model: Path, host: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.wheel, self.model = wheel, model
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.stalled: set[Path] = set()
        self.ranges: list[str | None] = []  # what was asked of the model, in order
        self.certificate = _certificate(home, host)
        self.tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.tls.load_cert_chain(self.certificate)

    @property
    def variables(self) -> dict[str, str]:
        """Where pip, of itself in vain, and the hub's client look, and whom they trust."""
        return {"PIP_INDEX_URL": f"{self.url}/simple", "HTTPS_PROXY": self.url, "SSL_CERT_FILE": str(self.certificate)}


class _Handler(BaseHTTPRequestHandler):
    server: Origin
    protocol_version = "HTTP/1.1"
    secure = False

    def do_CONNECT(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.connection = self.server.tls.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", buffering=0)
        self.secure, self.close_connection = True, False

    def do_GET(self) -> None:
        name = urlsplit(self.path).path.strip("/")
        if self.secure and self.headers["Range"] == "bytes=0-3":  # how large is it?
            self._begin()
        elif self.secure:
            self.server.ranges.append(self.headers["Range"])
            self._file(self.server.model)
        elif name == self.server.wheel.name:
            self._file(self.server.wheel)
        elif name == "whl/cpu/winnow-weights-adapter":
            self._answer(f'<a href="/{self.server.wheel.name}">{self.server.wheel.name}</a>'.encode(), "text/html")
        else:
            self.send_error(404)

    def _begin(self) -> None:
        with self.server.model.open("rb") as stream:
            self.send_response(206)
            self.send_header("Content-Range", f"bytes 0-3/{self.server.model.stat().st_size}")
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(stream.read(4))

    def _answer(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _file(self, file: Path) -> None:
        """From the byte that is asked for; the first time a file is asked for, it stalls half way."""
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers["Range"] or "")
        size, start = file.stat().st_size, int(asked[1]) if asked else 0
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        self.send_header("Content-Length", str(size - start))
        self.end_headers()
        with file.open("rb") as stream:
            stream.seek(start)
            if file not in self.server.stalled:
                self.server.stalled.add(file)
                self.wfile.write(stream.read(size // 2))
                self._stall(stream.read(_BLOCK))
                return
            while block := stream.read(_BLOCK):
                self.wfile.write(block)

    def _stall(self, rest: bytes) -> None:
        """Send so little that nothing times out, until the client goes."""
        self.close_connection = True
        for byte in rest:
            if select.select([self.connection], [], [], _TRICKLE_S)[0]:
                return
            self.wfile.write(bytes([byte]))

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:  # the client went: that is what the stall is for
            self.close_connection = True

    def finish(self) -> None:
        super().finish()
        self.connection.close()  # what TLS made of the one that the server closes

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: pytest shows what matters."""


def _certificate(home: Path, host: str) -> Path:
    """A key and a certificate of its own for `host`, in one file."""
    key, certificate, both = home / "key.pem", home / "certificate.pem", home / "both.pem"
    names = ["-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names]
    command += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "OPENSSL_CONF": os.devnull})
    both.write_text(key.read_text() + certificate.read_text())
    return both

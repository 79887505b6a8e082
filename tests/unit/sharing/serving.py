"""A folder served over HTTP on this machine."""

import http.server
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from http_servers import running


class WholeFiles(http.server.SimpleHTTPRequestHandler):
    """Sends whole files, whatever part is asked for."""

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path, handler: type[http.server.SimpleHTTPRequestHandler] = WholeFiles) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    with running(server):
        yield f"http://127.0.0.1:{server.server_port}"

"""A tiny client of the language server: python examples/lsp_client.py FOLDER QUESTION [DRAFTER [TARGET]].

It needs nothing but the standard library. `docs/protocol.md` describes the requests.
"""

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

COMMAND = [sys.executable, "-m", "winnow_lsp", "serve"]  # an editor would run `winnow serve`


class Server:
    """A language server on standard input and output, which is asked one thing at a time."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to: IO[bytes] = self._process.stdin
        self._from: IO[bytes] = self._process.stdout
        self._requests = 0
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            self.request("shutdown", None)
            self.notify("exit", None)
        else:
            self._process.terminate()
        self._process.communicate()

    def notify(self, method: str, params: Any, **identity: int) -> None:
        """Send a message that gets no answer; with an `id` it is a request."""
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **identity}).encode()
        self._to.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._to.flush()

    def request(self, method: str, params: Any) -> Any:
        """Send a request, print the deltas that arrive before its answer, and return that."""
        self._requests += 1
        self.notify(method, params, id=self._requests)
        while (message := self._read()).get("id") != self._requests:
            value = message.get("params", {}).get("value", {})
            if message["method"] == "$/progress" and value["kind"] == "delta":
                print(value["text"], end="", flush=True)
        if "error" in message:
            raise SystemExit(message["error"]["message"])
        return message["result"]

    def _read(self) -> Any:
        length = 0
        while (line := self._from.readline()) != b"\r\n":
            if not line:
                raise SystemExit("the server has ended")
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        return json.loads(self._from.read(length))


def main(folder: str, question: str, *models: str) -> None:
    """Stream the answer, then list the lines it cites. `models` name a drafter and a target; both have defaults."""
    root = Path(folder).resolve()
    with Server() as server:
        options = {"budget": 1000, **dict(zip(("drafter", "target"), models, strict=False))}
        folders = [{"uri": root.as_uri(), "name": root.name}]
        start = {"processId": None, "capabilities": {}, "workspaceFolders": folders, "initializationOptions": options}
        server.request("initialize", start)
        server.notify("initialized", {})
        answer = server.request("winnow/ask", {"question": question, "partialResultToken": "answer"})
    print("\n")
    for cited in answer["citations"]:
        print(f"{cited['uri']}:{cited['range']['start']['line'] + 1}")


if __name__ == "__main__":
    main(*sys.argv[1:])

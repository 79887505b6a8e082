"""The server's introduction, without the SDK, whose import takes longer than a client should wait.

MCP 2025-11-25, Lifecycle. The answer to `initialize` depends on nothing but the version that the client offers; a test
compares it with what the SDK answers.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

from winnow_engine.untrusted import read_json

NAME, TITLE = "winnow", "Winnow"
DISTRIBUTION = "winnow-lsp"
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The versions of the protocol that begin with `initialize`."""

INSTRUCTIONS = """\
Winnow reads a whole repository and finds the code that answers a question in plain words, ranked, within a budget of \
tokens. Call find_code first when you do not know the exact name to search for, when a question concerns behaviour \
("where are retries limited?") or several files at once, or when grep finds too much: one call replaces several rounds \
of grep and reading files, and what it returns is the code itself with paths and line numbers. Use grep instead for a \
known literal string or to list every occurrence. explain_place tells what some lines use and who uses them; outline \
shows what is in a folder or file; ask has a language model on the user's machine answer, which takes seconds."""

CAPABILITIES: dict[str, Any] = {"tools": {"listChanged": False}}


def greeting(line: bytes) -> tuple[object, bytes] | None:
    """The id of an `initialize` request and the line that answers it; None for anything else."""
    try:
        message = read_json(line)
        offered = message["params"]["protocolVersion"]
        identity = message["id"]
    except (ValueError, KeyError, TypeError):
        return None
    if message.get("method") != "initialize" or offered not in VERSIONS or not isinstance(identity, int | str):
        return None
    result = {
        "protocolVersion": offered,
        "capabilities": CAPABILITIES,
        "serverInfo": {"name": NAME, "title": TITLE, "version": version(DISTRIBUTION)},
        "instructions": INSTRUCTIONS,
    }
    answer = {"jsonrpc": "2.0", "id": identity, "result": result}
    return identity, json.dumps(answer, ensure_ascii=False).encode() + b"\n"

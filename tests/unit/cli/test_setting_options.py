"""Settings as options, those in `winnow.toml` beneath them, and their old names."""

import re
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from winnow_lsp.cli.main import main
from winnow_lsp.cli.setting_options import config_of, setting_options
from winnow_lsp.host.settings import Settings

DOCUMENT = Path(__file__).parents[3] / "docs" / "settings.md"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where `winnow.toml` is, which is not there yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "winnow").mkdir()
    return tmp_path / "winnow" / "winnow.toml"


def parsed(*arguments: str) -> tuple[Settings | None, str]:
    """What a command makes of some arguments, and what it says."""
    found: list[Settings] = []

    @click.command()
    @setting_options("budget", "drafter", "target")
    def command(**options: Any) -> None:
        found.append(config_of(options))

    result = CliRunner().invoke(command, arguments)
    return (found[0] if found else None), result.output


def test_lists_add_up_and_take_what_looks_like_anything(file: Path) -> None:
    given = [f"--set=files.exclude={one}" for one in ("*.md", "1", "--http", '["a", "b"]')]
    config, _ = parsed(*given, "--set=winnow.maxTokens=40")
    assert config is not None
    assert (config.files.exclude, config.sampling.max_tokens) == (("*.md", "1", "--http", "a", "b"), 40)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--budget", "0"), "must be auto, a whole number of at least 1, or a share such as 5%, not '0'"),
        (("--set", "kvType=f64"), "kvType must be one of f16, q8_0, q4_0, not 'f64'"),
        (("--set", "index.automatic=perhaps"), "must be one of idle, always, off"),
        (("--set", "patience"), "is not NAME=VALUE"),
        (("--set", "seed=3"), "is not NAME=VALUE, with one of these names: drafter, target,"),
    ],
)
def test_what_no_setting_allows_is_refused(arguments: tuple[str, str], says: str, file: Path) -> None:
    config, said = parsed(*arguments)
    assert config is None
    assert says in " ".join(said.split())


def test_options_win_over_the_file_and_its_mistakes_are_named(file: Path) -> None:
    file.write_text('budget = "5%"\npatience = 0\nmaxTokens = 40\nbugdet = 1\n[files]\ninclude = ["*.py"]\n')
    config, said = parsed("--budget", "auto")
    assert config is not None
    assert (config.budget.keep_ratio, config.sampling.max_tokens, config.files.include) == (None, 40, ("*.py",))
    assert said.splitlines() == [
        f"winnow: {file}: patience must be a number above 0, not 0; using 10.0",
        f"winnow: {file}: bugdet is not a setting: did you mean budget?",
    ]


def test_the_environment_names_models_over_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text('target = "http://127.0.0.1:1/v1#a"')
    for name, value in (("WINNOW_TARGET", "http://127.0.0.1:1/v1#b"), ("WINNOW_DRAFTER", "smollm2-135m")):
        monkeypatch.setenv(name, value)
    for given, target in (((), "b"), (("--target", "http://127.0.0.1:1/v1#c"), "c")):
        config, _ = parsed(*given)
        assert config is not None
        assert (config.models.target[-1], config.models.drafter) == (target, "smollm2-135m")


@pytest.mark.parametrize("content", [b"budget = ", b"\xff"])
def test_a_file_that_is_no_toml_is_an_error(content: bytes, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(content)
    assert main(["spans", "x"]) == 2
    assert f"{file} cannot be read" in capsys.readouterr().err
    assert main(["mcp", "install", "codex", "--print"]) == 0, "what does not read the file"


def test_no_file_of_the_repository_is_read(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "winnow.toml").write_text('target = "https://gpu.invalid/v1"')
    monkeypatch.chdir(tmp_path)
    assert parsed() == (Settings(), "")


def test_paths_in_the_file_lead_on_from_its_folder(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = tmp_path / "repository"
    for folder in (repository, file.parent):
        (folder / "models").mkdir(parents=True)
        for name in ("own", "target.gguf", "models/draft.gguf", "qwen2.5-coder-0.5b"):
            (folder / name).touch()
    monkeypatch.chdir(repository)
    file.write_text('drafter = "own"\ntarget = "target.gguf"\nspeculate = "models/draft.gguf"\nindex.shared = ["x"]')
    config, _ = parsed()
    assert config is not None
    names = (config.models.drafter, config.models.target, config.models.speculate, *config.shared_indexes)
    assert names == tuple(str(file.parent / name) for name in ("own", "target.gguf", "models/draft.gguf", "x"))
    file.write_text('drafter = "qwen2.5-coder-0.5b"\ntarget = "~nosuchuser/x.gguf"\nindex.shared = ["https://a.b/c"]')
    config, _ = parsed()
    assert config is not None
    assert config.models.drafter == "qwen2.5-coder-0.5b"
    assert config.models.target == str(file.parent / "~nosuchuser" / "x.gguf")
    assert config.shared_indexes == ("https://a.b/c",)
    file.write_text('drafter = "qwen2.5-codr-0.5b"\ntarget = "own"\nspeculate = "none.gguf"')
    (file.parent / "own").unlink()
    config, _ = parsed()
    assert config is not None
    names = (config.models.drafter, config.models.target, config.models.speculate)
    assert names == ("qwen2.5-codr-0.5b", str(file.parent / "own"), str(file.parent / "none.gguf"))


def test_the_file_in_the_documentation_works(file: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    file.write_text(example)
    config, said = parsed()
    assert said == ""
    assert config not in (None, Settings())


@pytest.mark.parametrize("model", ["smollm2-135m", "http://127.0.0.1:1/v1", "./here", "here"])
def test_only_what_names_a_file_becomes_a_path(
    model: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("auto", "here", "smollm2-135m", "http:/127.0.0.1:1/v1"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    config, _ = parsed("--drafter", model, "--target", model, "--set", "speculate=auto")
    expected = str(tmp_path / "here") if "here" in model else model
    assert config is not None
    assert (config.models.drafter, config.models.target, config.models.speculate) == (expected, expected, "auto")


@pytest.mark.parametrize("command", ["ask", "why", "when", "review", "spans", "mcp", "index", "acp"])
def test_help_fits_a_screen(command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([command, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 22, "beside the command and the prompt, on 24 lines"
    assert sum(line.startswith("  -") for line in lines) <= 14

import json
import os
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from model_hub import REPOSITORY, serving
from random_models import write_model

from winnow_engine.core import Progress, ProgressSink
from winnow_engine.errors import ModelDamagedError, ModelNotFoundError
from winnow_engine.models import registry
from winnow_lsp.cli import pulling as module
from winnow_lsp.cli.models import models

from ..targets.conftest import write_llama

SMOL = registry.find("smollm2-135m")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WINNOW_MODELS_DIR", str(tmp_path))
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(models, arguments)


def place(cache: Path, size: int = SMOL.bytes) -> Path:
    """A file of the name of a model that has its header, but not its weights."""
    file = write_llama(cache / SMOL.file)
    os.truncate(file, size)
    return file


def test_list_shows_every_model_and_its_state(cache: Path) -> None:
    place(cache)
    rows = {line.split()[0]: line for line in run("list").stdout.splitlines()}
    assert set(rows) == {"name", *(model.name for model in registry.MODELS)}
    assert rows[SMOL.name].split()[-5:] == ["98", "MB", "Apache-2.0", "ok", date.today().isoformat()]
    assert rows[registry.DEFAULT_TARGET].split()[-1] == "missing"


@pytest.mark.parametrize("table", ["list", "suggest"])
def test_a_narrow_terminal_shows_names_and_cells_whole(
    table: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    shown = run(table).stdout
    rows = {line.split()[0]: line.rstrip() for line in shown.splitlines() if line.strip()}
    assert all(len(rows[model.name]) > 40 for model in registry.MODELS)
    assert "…" not in shown


def test_list_prints_json_for_scripts(cache: Path) -> None:
    place(cache, 5)
    records = {record["name"]: record for record in json.loads(run("list", "--json").stdout)}
    assert set(records) == {model.name for model in registry.MODELS}
    assert records[SMOL.name] == {
        "name": SMOL.name,
        "roles": ["drafter", "target"],
        "file": str(cache / SMOL.file),
        "bytes": SMOL.bytes,
        "sha256": SMOL.sha256,
        "licence": "Apache-2.0",
        "state": "damaged",
    }


@pytest.mark.parametrize("kept", [0, 4, 5000, 1_000_000, None])
def test_a_model_of_a_hub_that_is_cut_short_is_listed_as_damaged(cache: Path, kept: int | None) -> None:
    file = cache / "acme" / "tiny-GGUF" / "tiny-Q8_0.gguf"
    file.parent.mkdir(parents=True)
    file.write_bytes(write_model(cache / "whole.gguf").read_bytes()[:kept])
    state = "damaged" if kept is not None else "ok"
    assert json.loads(run("list", "--json").output)[-1]["state"] == state
    assert state in run("list").output.splitlines()[-1]


def test_verify_finds_wrong_content_and_names_the_file(cache: Path) -> None:
    file, result = place(cache), run("verify")
    assert "damaged" in result.stdout
    assert isinstance(result.exception, ModelDamagedError)
    assert str(file) in str(result.exception)


def test_pull_prints_a_json_line_for_each_percent(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pull(model: registry.RegisteredModel, _: Path, progress: ProgressSink) -> Path:
        for done in range(0, 1001):
            progress(Progress("smol from a mirror", done, 1000))
        return cache / model.file

    monkeypatch.setattr(module, "pull", pull)
    steps = [json.loads(line) for line in run("pull", "--json", SMOL.name).stdout.splitlines()]
    assert steps[0] == {"model": SMOL.name, "stage": "smol from a mirror", "done": 0, "total": 1000}
    assert [step["done"] for step in steps[:-1]] == list(range(0, 1001, 10))
    assert steps[-1] == {"model": SMOL.name, "file": str(cache / SMOL.file)}


def test_pull_shows_what_a_hub_offers_and_list_and_remove_know_it(
    cache: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write_model(tmp_path_factory.mktemp("hub") / "a-Q8_0.gguf").read_bytes()
    (cache / registry.find(registry.DEFAULT_DRAFTER).file).touch()
    with serving({"a-Q8_0.gguf": data}, monkeypatch):
        pulled = run("pull", f"hf:{REPOSITORY}")
    name = f"hf:{REPOSITORY}:Q8_0"
    assert pulled.stdout == f"{cache / REPOSITORY / 'a-Q8_0.gguf'}\n"
    assert "Q8_0, llama, context 4,096 tokens, licence apache-2.0" in pulled.stderr
    assert run("path", name).stdout == run("path", pulled.stdout.strip()).stdout == pulled.stdout
    (record,) = (one for one in json.loads(run("list", "--json").stdout) if one["name"] == name)
    assert (record["bytes"], record["state"]) == (len(data), "ok")
    assert run("list").stdout.split()[-6:] == [name, "target", "3", "MB", "ok", date.today().isoformat()]
    assert run("remove", name).stdout == f"{name}: removed, 3 MB\n"


def test_a_target_brings_the_drafter_if_there_is_none(cache: Path) -> None:
    drafter, target = registry.DEFAULT_DRAFTER, f"hf:{REPOSITORY}"
    assert module.with_drafter((target,)) == (drafter, target)
    assert module.with_drafter((target, SMOL.name)) == (target, SMOL.name)
    (cache / registry.find(drafter).file).touch()
    assert module.with_drafter((target,)) == (target,)


@pytest.mark.real_weights
def test_a_real_model_is_pulled_and_verified(cache: Path) -> None:
    pulled = run("pull", SMOL.name)
    assert pulled.stdout == f"{cache / SMOL.file}\n"
    assert pulled.stderr.endswith(": 98 MB of 98 MB\n")
    assert run("verify").exit_code == 0
    assert run("list").stdout.split()[-2:] == ["ok", date.today().isoformat()]


def test_a_model_is_removed_with_what_was_received_of_it(cache: Path) -> None:
    part = place(cache).with_name(f"{SMOL.file}.part")
    part.write_bytes(bytes(1_638_000))
    assert run("remove", SMOL.name).stdout == f"{SMOL.name}: removed, 100 MB\n"
    assert not list(cache.glob("*.gguf*"))
    assert isinstance(run("remove", SMOL.name).exception, ModelNotFoundError)
    assert isinstance(run("remove", "../x").exception, ModelNotFoundError)

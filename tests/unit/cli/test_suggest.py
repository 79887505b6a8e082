"""`winnow models suggest`."""

import json
from collections.abc import Iterator
from pathlib import Path

import llama_cpp
import pytest
from click.testing import CliRunner

from winnow_engine import platform
from winnow_engine.models import registry
from winnow_engine.models.target_table import known_targets
from winnow_engine.targets import suggesting
from winnow_engine.targets.machine_speed import Speed
from winnow_engine.targets.remote import discovery
from winnow_lsp.cli.models import models

from ...ollama_server import serving


@pytest.fixture(autouse=True)
def ollama(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """A machine without models or measurements, on which Ollama runs."""
    monkeypatch.setattr(discovery, "_OTHERS", ())
    monkeypatch.setenv("WINNOW_MODELS_DIR", str(tmp_path))
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(suggesting, "cpu_speed", lambda: Speed(1.6e11, 3e10))
    monkeypatch.setattr(suggesting, "gpu_speed", lambda experts: None)
    with serving() as url:
        monkeypatch.setenv("OLLAMA_HOST", url)
        yield url


def test_a_containers_limit_is_the_memory_there_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("1700000000")
    (tmp_path / "memory.current").write_text("100000000")
    monkeypatch.setattr(platform, "_CGROUP", tmp_path)
    document = json.loads(CliRunner().invoke(models, ["suggest", "--json"]).output)
    assert document["machine"]["memoryAvailableBytes"] <= 1_600_000_000
    assert {one["name"] for one in document["targets"] if one["place"]} <= {"smollm2-135m", "qwen2.5-coder-0.5b"}


def test_json_has_the_machine_every_target_and_what_was_found(ollama: str) -> None:
    document = json.loads(CliRunner().invoke(models, ["suggest", "--json"]).stdout)
    assert document["machine"]["cores"] >= 1
    assert document["machine"]["memoryBytes"] >= document["machine"]["memoryAvailableBytes"] > 0
    assert {one["name"] for one in document["targets"]} == {target.name for target in known_targets()}
    for one in document["targets"]:
        assert not one["here"]
        assert one["throughput"] in ("forecast", "unknown")
        assert one["fits"] == (one["place"] is not None)
        assert 800 <= one["promptTokens"] <= 6000
        assert one["firstTokenS"] is None or one["firstTokenS"] >= one["promptTokens"] / one["tokensPerS"] * 0.999
    assert document["suggested"] in {one["name"] for one in document["targets"] if one["fits"]} | {None}
    found = {"model": "coder:7b", "server": "Ollama 0.33.0", "url": f"{ollama}/v1#coder:7b"}
    assert document["found"][0] == found | {"context": None}


def test_the_table_marks_what_is_forecast_and_says_what_to_do(ollama: str) -> None:
    result = CliRunner().invoke(models, ["suggest"])
    assert result.exit_code == 0, result.output
    assert all(target.name in result.stdout for target in known_targets())
    assert ("≈ is a forecast" in result.stdout) == any(f"≈{digit}" in result.stdout for digit in range(1, 10))
    assert f"winnow ask --target '{ollama}/v1#coder:7b'" in result.stdout
    assert result.stdout.splitlines()[-1].startswith(("suggested: winnow models pull ", "none of these fits"))


def test_a_gpu_that_llama_cpp_cannot_use_is_explained(ollama: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("winnow_engine.targets.residency.gpu_bytes", lambda: (24 * 10**9, "a GPU"))
    monkeypatch.setattr(llama_cpp, "llama_supports_gpu_offload", lambda: False)
    said = " ".join(CliRunner().invoke(models, ["suggest"]).stdout.split())
    assert f"{registry.DEFAULT_TARGET} CPU" in said
    assert "24.0 GB free, but this build of llama.cpp has no GPU support" in said

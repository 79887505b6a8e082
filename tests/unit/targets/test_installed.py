"""The target that `auto` stands for: the best of what is installed, and never the drafter by itself."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from random_models import write_all

from winnow_engine.config import ModelConfig
from winnow_engine.errors import ModelNotFoundError
from winnow_engine.models import registry
from winnow_engine.targets import residency, suggesting
from winnow_engine.targets.machine_speed import Speed

from .conftest import start, write_llama

PULLED = "hf:acme/large-GGUF:Q8_0"
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts models, or files that look like these, on a machine without a GPU, which reads 1.5 billion in time."""
    monkeypatch.setenv("WINNOW_MODELS_DIR", str(tmp_path))
    monkeypatch.setattr(residency, "gpu_bytes", lambda: (None, "no GPU"))
    monkeypatch.setattr(suggesting, "cpu_speed", lambda: Speed(1.6e11, 3e10))
    monkeypatch.setattr(suggesting, "gpu_speed", lambda experts: None)
    monkeypatch.setattr(suggesting, "free_memory", lambda: 16 * 10**9)
    monkeypatch.setattr(suggesting, "_chosen", {})

    def put(*names: str, template: bool = True) -> None:
        for name in names:
            registered = name != PULLED and registry.find(name)
            file = tmp_path / (registered.file if registered else "acme/large-GGUF/large-Q8_0.gguf")
            file.parent.mkdir(parents=True, exist_ok=True)
            write_llama(file, [{"name": "default", "template": "{{ messages }}"}] if template else ())
            if registered:
                os.truncate(file, registered.bytes)

    return put


SMALL, USUAL, TINY = "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b", "smollm2-135m"


@pytest.mark.parametrize(
    ("names", "drafter", "patience_s", "chosen"),
    [
        ((SMALL, USUAL), SMALL, 10, USUAL),
        ((SMALL, USUAL), SMALL, 0.1, USUAL),  # the drafter is no answer to haste
        ((SMALL, USUAL, TINY), SMALL, 10, USUAL),
        ((SMALL, USUAL, TINY), SMALL, 0.1, USUAL),  # nor is one that is seldom right
        ((SMALL, TINY), TINY, 10, SMALL),
        ((TINY, PULLED), TINY, 10, PULLED),
    ],
)
def test_the_best_that_is_installed_is_chosen(
    names: tuple[str, ...], drafter: str, patience_s: float, chosen: str, install: Install
) -> None:
    install(*names)
    assert suggesting.resolved(ModelConfig(drafter, patience_s=patience_s)).target == chosen


def test_the_machine_is_measured_only_for_a_choice(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggesting, "cpu_speed", lambda: pytest.fail("measured"))
    install(USUAL, TINY)
    assert suggesting.resolved(ModelConfig(SMALL)).target == USUAL


def test_a_process_stays_with_its_choice_until_something_else_is_installed(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(SMALL, USUAL, TINY)
    assert suggesting.resolved(ModelConfig()).target == USUAL
    monkeypatch.setattr(suggesting, "free_memory", lambda: 0)  # the target is in it
    assert suggesting.resolved(ModelConfig()).target == USUAL
    install(PULLED)
    assert suggesting.resolved(ModelConfig()).target == PULLED, "nothing fits: the smallest"


def test_neither_the_drafter_nor_a_model_that_cannot_chat_is_a_target(install: Install, tmp_path: Path) -> None:
    install(SMALL)
    install(PULLED, template=False)
    embeds = start(tmp_path / "acme/large-GGUF/embeds-Q4_0.gguf", "llama")
    embeds.add_uint32("llama.pooling_type", 3)
    embeds.add_chat_template("{{ messages }}")
    write_all(embeds)
    (link := tmp_path.with_suffix(".gguf")).symlink_to(tmp_path / registry.find(SMALL).file)
    for drafter in (SMALL, str(tmp_path / registry.find(SMALL).file), str(link)):
        with pytest.raises(ModelNotFoundError, match="run `winnow models pull`"):
            suggesting.resolved(ModelConfig(drafter))

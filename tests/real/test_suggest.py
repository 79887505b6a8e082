"""What the registry says of a model's memory is what its file says."""

from pathlib import Path

import pytest

from winnow_engine.config import TargetOptions
from winnow_engine.llama.model import LlamaModel
from winnow_engine.models.registry import DEFAULT_DRAFTER, MODELS, find
from winnow_engine.targets.residency import expect, measure

pytestmark = pytest.mark.real_weights


def test_the_registry_foresees_what_the_files_need(smollm2: Path, qwen_small: Path, qwen_target: Path) -> None:
    files = {file.name: file for file in (smollm2, qwen_small, qwen_target)}
    for model in MODELS:
        assert expect(find(DEFAULT_DRAFTER), model) == measure(qwen_small, files[model.file], TargetOptions())
        loaded = LlamaModel(files[model.file])
        assert loaded.parameters == model.parameters
        loaded.close()

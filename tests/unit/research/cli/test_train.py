"""`winnow train` where PyTorch is not installed."""

import importlib.util
from pathlib import Path

import pytest
from click.testing import CliRunner

from winnow_research.cli.train import train
from winnow_research.errors import TrainingError


@pytest.mark.parametrize("arguments", [["run", "data.npz", "adapter"], ["draft", "data.npz", "draft.gguf"]])
def test_training_without_pytorch_says_what_to_install(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(TrainingError, match=r"winnow_research\[train\]"):
        CliRunner().invoke(train, arguments, catch_exceptions=False)

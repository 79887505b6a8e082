import pytest

from winnow_cuda.device import Availability
from winnow_lsp.cli.main import main
from winnow_research.cli.bench import kernels


def test_without_a_device_there_is_nothing_to_measure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kernels, "availability", lambda: Availability(False, "no CUDA device here"))
    assert main(["bench", "kernels"]) == 1
    assert "no CUDA device here" in capsys.readouterr().err

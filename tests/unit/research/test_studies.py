"""Every study starts, and says how it is called."""

import importlib
import importlib.util
import pkgutil

import pytest

from winnow_research import studies

NEED_TORCH = ("chain_draft", "reader_sizes", "variants")


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(studies.__path__)])
def test_a_study_starts_and_shows_its_usage(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if name in NEED_TORCH and importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch")
    study = importlib.import_module(f"winnow_research.studies.{name}")
    monkeypatch.setattr("sys.argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        study.main()
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: python -m winnow_research.studies.{name} ")

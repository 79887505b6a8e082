"""The mean of adapters: of their updates, not of the factors, and the best one of their rank."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from winnow_engine.encoder.adapter import AdapterProfile
from winnow_research.errors import TrainingError
from winnow_research.training.mean import mean

IN, OUT = 12, 20
HEAD = {"k": (6, IN), "q": (6, IN), "kw": (1, IN), "qw": (1, IN), "mu": (IN,), "sd": (IN,), "sc": (2,)}


def written(path: Path, seed: int, rank: int = 4, scale: str = "2.0", used: slice = slice(None)) -> Path:
    """An adapter of one layer, of whose update only the directions `used` are there."""
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((rank, IN)), np.zeros((OUT, rank))
    b[:, used] = rng.standard_normal((OUT, rank))[:, used]
    tensors = {"lora.0.attn_q.a": a, "lora.0.attn_q.b": b}
    tensors |= {f"{head}.{name}": rng.random(size) for head in ("maxsim", "pool") for name, size in HEAD.items()}
    save_file({name: value.astype(np.float16) for name, value in tensors.items()}, path, {"lora_scale": scale})
    return path


def update(path: Path) -> np.ndarray:
    tensors = load_file(path)
    return np.asarray(tensors["lora.0.attn_q.b"], np.float32) @ np.asarray(tensors["lora.0.attn_q.a"], np.float32)


def test_updates_that_fit_the_rank_together_are_averaged_and_so_are_the_heads(tmp_path: Path) -> None:
    adapters = [written(tmp_path / str(seed), seed, used=slice(2)) for seed in (1, 2)]
    held = mean(adapters, tmp_path / "mean")
    assert held == pytest.approx(1.0)
    np.testing.assert_allclose(update(tmp_path / "mean"), np.mean([*map(update, adapters)], axis=0), atol=0.02)
    first, second, found = (load_file(path) for path in (*adapters, tmp_path / "mean"))
    assert found.keys() == first.keys()
    for name in ("maxsim.k", "pool.sc"):
        np.testing.assert_allclose(found[name], (first[name] + second[name]) / 2, atol=1e-3)
    assert AdapterProfile(tmp_path / "mean").rank == 4


def test_of_more_than_the_rank_holds_the_largest_singular_values_stay(tmp_path: Path) -> None:
    adapters = [written(tmp_path / str(seed), seed) for seed in (1, 2, 3)]
    held = mean(adapters, tmp_path / "mean")
    u, singular, v = np.linalg.svd(np.mean([*map(update, adapters)], axis=0))
    np.testing.assert_allclose(update(tmp_path / "mean"), (u[:, :4] * singular[:4]) @ v[:4], atol=0.02)
    assert held == pytest.approx(np.square(singular[:4]).sum() / np.square(singular).sum(), abs=1e-3)
    assert held < 0.95


@pytest.mark.parametrize("changes", [{"rank": 3}, {"scale": "1.0"}])
def test_unequal_adapters_are_refused_by_name_and_nothing_is_written(
    changes: dict[str, int | str], tmp_path: Path
) -> None:
    first, odd = written(tmp_path / "first", 1), written(tmp_path / "odd", 2, **changes)
    with pytest.raises(TrainingError, match=r"odd has other layers, another rank or scale than .*first"):
        mean([first, odd], tmp_path / "mean")
    assert not (tmp_path / "mean").exists()

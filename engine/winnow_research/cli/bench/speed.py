"""`winnow bench kernels` and `winnow bench drafter`: speed and error on this machine's GPU."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import click

from winnow_cuda.device import Device, DeviceError, availability, open_device
from winnow_engine.encoder.kernel_cache import default_folder
from winnow_engine.errors import WinnowError

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON: the machine, then every figure.")


@click.command()
@json_option
def kernels(as_json: bool) -> None:
    """Speed and error of every GPU kernel on this machine.

    Each figure is the median of ten runs by the device's own clock, with its relative error against float64.
    """
    _measure(_kernel_figures, as_json)


@click.command()
@json_option
def drafter(as_json: bool) -> None:
    """Speed and error of the whole drafter on this machine's GPU, from token ids to keys, with nothing cached.

    Each figure is the median of ten runs by the device's own clock.
    """
    _measure(_drafter_figures, as_json)


def _measure(figures_of: Callable[[Device], Iterator[Any]], as_json: bool) -> None:
    found = availability()
    if not found.usable:
        raise WinnowError(f"there is nothing to measure: {found.reason}")
    machine = {"device": found.reason, "date": time.strftime("%Y-%m-%d"), "versions": _versions()}
    figures = []
    if not as_json:
        click.echo(found.reason)
    try:
        for figure in figures_of(_device()):
            figures.append(asdict(figure))
            if not as_json:
                click.echo(_line(figures[-1]))
    except DeviceError as error:
        raise WinnowError(f"the device failed while it was measured: {error}") from error
    if as_json:
        click.echo(json.dumps({"machine": machine, "figures": figures}, indent=2))


def _device() -> Device:
    device = open_device()
    device.binaries = default_folder()
    device.on_compile = lambda name: click.echo(f"compiling {name}", err=True)
    return device


def _kernel_figures(device: Device) -> Iterator[Any]:
    from winnow_research.speed.encoder_ops import EncoderOps
    from winnow_research.speed.scoring_ops import ScoringOps

    yield from EncoderOps(device).all()
    yield from ScoringOps(device).all()


def _drafter_figures(device: Device) -> Iterator[Any]:
    import numpy as np

    from winnow_research.speed.encoder import encoder_figures, joint_figures, random_weights

    yield from encoder_figures(device, random_weights(), np.arange(23, dtype=np.int32))
    yield from joint_figures(device)


def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("numpy", "numba", "numba-cuda")}


def _line(figure: dict[str, Any]) -> str:
    error = "" if figure["error"] is None else f"  error {figure['error']:.1e}"
    speed = f"{figure['tflops']:8.1f} TFLOP/s {figure['gigabytes_per_s']:6.0f} GB/s"
    return f"{figure['kernel']:28} {figure['size']:48} {figure['milliseconds']:9.3f} ms {speed}{error}"

"""`winnow bench kernels`: speed and error on this machine's GPU."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import click

from winnow_cuda.device import Device, DeviceError, availability, open_device
from winnow_engine.encoder.kernel_cache import default_folder
from winnow_engine.errors import WinnowError


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the machine, then every figure.")
def kernels(as_json: bool) -> None:
    """Speed and error of every GPU kernel on this machine.

    Each figure is the median of ten runs by the device's own clock, with its relative error against float64.
    """
    found = availability()
    if not found.usable:
        raise WinnowError(f"there is nothing to measure: {found.reason}")
    machine = {"device": found.reason, "date": time.strftime("%Y-%m-%d"), "versions": _versions()}
    figures = []
    if not as_json:
        click.echo(found.reason)
    try:
        for figure in _figures(_device()):
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
    return device


def _figures(device: Device) -> Iterator[Any]:
    from winnow_research.speed.encoder_ops import EncoderOps
    from winnow_research.speed.readout_ops import ReadoutOps

    yield from EncoderOps(device).all()
    yield from ReadoutOps(device).all()


def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("numpy", "numba", "numba-cuda")}


def _line(figure: dict[str, Any]) -> str:
    error = "" if figure["error"] is None else f"  error {figure['error']:.1e}"
    speed = f"{figure['tflops']:8.1f} TFLOP/s {figure['gigabytes_per_s']:6.0f} GB/s"
    return f"{figure['kernel']:28} {figure['size']:48} {figure['milliseconds']:9.3f} ms {speed}{error}"

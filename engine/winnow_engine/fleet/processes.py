"""Workers that are processes of this machine, one a GPU, or each with its share of the cores."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import winnow_engine
from winnow_cuda.device import device_count
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.file_encoder import FileKeys
from winnow_engine.errors import UnsupportedModelError
from winnow_engine.fleet.fleet import Fleet, Texts, WorkerLostError
from winnow_engine.fleet.worker import encode
from winnow_engine.platform import physical_cores

_VISIBLE = "CUDA_VISIBLE_DEVICES"


class ProcessWorker:
    """A process of this machine with a drafter of its own. `identity` is that of the drafter here."""

    def __init__(self, model: Path, identity: str, threads: int, device: str | None) -> None:
        """Start it. Raises WorkerLostError if that cannot be."""
        self._identity = identity
        try:
            self._process = subprocess.Popen(
                # -P: a file of the folder that Winnow runs in must not pass for a module.
                [sys.executable, "-P", "-m", "winnow_engine.fleet.worker", str(model), str(threads)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=_environment(device),
            )
        except OSError as error:
            raise WorkerLostError(f"cannot be started: {error}") from error

    def start(self) -> None:
        """See `Worker`. Raises what kept the model from loading, as it was there."""
        check_identity(self._answer(), self._identity)

    def send(self, texts: Texts) -> None:
        """See `Worker`."""
        assert self._process.stdin is not None
        try:
            pickle.dump(texts, self._process.stdin, protocol=5)
            self._process.stdin.flush()
        except (OSError, ValueError) as error:
            raise WorkerLostError(self._ended()) from error

    def receive(self) -> list[FileKeys]:
        """See `Worker`."""
        keys: list[FileKeys] = self._answer()
        return keys

    def close(self) -> None:
        """See `Worker`."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:  # what was not written by then is of no use any more
                    continue

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        try:
            answer = pickle.load(self._process.stdout)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError) as error:
            raise WorkerLostError(self._ended()) from error
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _ended(self) -> str:
        code = self._process.poll()
        return "it does not answer" if code is None else f"it ended with status {code}"


def open_processes(model: Path, drafter: Drafter, count: int) -> Fleet:
    """`count` processes for the drafter of a GGUF: one a GPU in turn, or each with an equal share of the cores."""
    devices = visible_devices() if drafter.place == "resident" else []
    threads = 2 if devices else max(physical_cores() // count, 1)

    def open_worker(number: int) -> ProcessWorker:
        device = devices[number % len(devices)] if devices else None
        return ProcessWorker(model, drafter.identity, threads, device)

    return Fleet(count, open_worker, lambda texts: encode(drafter, texts), drafter.place)


def check_identity(found: str, wanted: str) -> None:
    """Raises UnsupportedModelError if a worker's drafter would make other keys."""
    if found != wanted:
        raise UnsupportedModelError("a worker has another drafter; give all machines the same model file and version")


def visible_devices() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    named = os.environ.get(_VISIBLE)
    if named is not None:
        return [device for device in named.split(",") if device.strip()]
    return [str(number) for number in range(device_count())]


def _environment(device: str | None) -> dict[str, str]:
    package = Path(winnow_engine.__file__).parent.parent
    paths = [str(package), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return environment if device is None else {**environment, _VISIBLE: device}

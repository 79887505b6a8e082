"""The cache of the CPU's compiled ops: one folder for all virtual environments.

Numba names a function's folder by the path of its source, so that each environment compiles again. Within
`NUMBA_CACHE_DIR` this names it by the content of all ops: by all, because a kernel has others inlined, whose
changes Numba does not see. Without that variable Numba keeps its own ways.

Numba takes what it finds for what it wrote: an empty file, as a power cut may leave it, is an error, and code with
flipped bits is run. So files in that folder end with their SHA-256. A damaged one counts as missing.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
from numba.core import caching, config
from numba.core.caching import CacheImpl, IndexDataCacheFile, _CacheLocator

compiled: Callable[..., Callable[..., Any]] = partial(numba.njit, nogil=True, cache=True, no_cfunc_wrapper=True)
"""Has Numba compile a function. `no_cfunc_wrapper` saves the time to compile an entry point for C, which calls none."""

_OPS = Path(__file__).parent
_NAME = "winnow-"
_DIGEST = 32


class OpsLocator(_CacheLocator):  # type: ignore[misc]
    """Locates the compiled code of a function in this folder by what the folder holds."""

    def __init__(self, function: FunctionType) -> None:
        self._py_file, self._line = str(_OPS), function.__code__.co_firstlineno
        self._path = str(Path(config.CACHE_DIR) / f"{_NAME}{_content()}")

    @classmethod
    def from_function(cls, py_func: FunctionType, py_file: str) -> OpsLocator | None:
        """The locator for a function; None if Numba's own should do."""
        if not config.CACHE_DIR or Path(py_file).parent != _OPS:
            return None
        locator = cls(py_func)
        try:
            locator.ensure_cache_path()
        except OSError:
            return None
        return locator

    def get_cache_path(self) -> str:
        """The folder of all ops."""
        return self._path

    def get_source_stamp(self) -> str:
        """The hash of the sources that a compiled function was made of."""
        return _content()

    def get_disambiguator(self) -> str:
        """Tells functions of one name in one file apart."""
        return str(self._line)


class CheckedFile(IndexDataCacheFile):  # type: ignore[misc]
    """The files of one function: an index, which tells signatures apart, and compiled code."""

    def save(self, key: Any, data: Any) -> None:
        """Keep what was compiled. Where the disk is full, it is compiled again next time, which costs seconds."""
        with suppress(OSError):
            super().save(key, data)

    def _load_index(self) -> Any:
        try:
            _sound(Path(self._index_path).read_bytes())
        except OSError:
            return {}
        return super()._load_index()

    def _save_index(self, overloads: Any) -> None:
        self._write(self._index_path, pickle.dumps(self._version) + self._dump((self._source_stamp, overloads)))

    def _load_data(self, name: str) -> Any:
        """The compiled code. OSError if it is damaged, which Numba takes for missing."""
        return pickle.loads(_sound(Path(self._data_path(name)).read_bytes()))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), self._dump(data))

    def _write(self, path: str, content: bytes) -> None:
        with self._open_for_write(path) as file:
            file.write(content + hashlib.sha256(content).digest())


def _sound(data: bytes) -> bytes:
    """The content before its hash. OSError if that differs."""
    if hashlib.sha256(data[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise OSError("damaged")
    return data[:-_DIGEST]


def _file(cache_path: str, filename_base: str, source_stamp: str) -> IndexDataCacheFile:
    """The files of a function, checked if they are ours."""
    kind = CheckedFile if Path(cache_path).name.startswith(_NAME) else IndexDataCacheFile
    return kind(cache_path=cache_path, filename_base=filename_base, source_stamp=source_stamp)


@cache
def _content() -> str:
    """A hash of the sources of all ops, and of Numba's version, which would overwrite what another has compiled."""
    digest = hashlib.sha256(numba.__version__.encode())
    for file in sorted(_OPS.glob("*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def share_compiled_ops() -> None:
    """Make Numba ask `OpsLocator` first, and check what is found there."""
    if OpsLocator not in CacheImpl._locator_classes:
        CacheImpl._locator_classes.insert(0, OpsLocator)
        caching.IndexDataCacheFile = _file

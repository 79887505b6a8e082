"""Where the compiled ops of the CPU lie: in one folder for all virtual environments.

Numba names a function's folder by the path of its source, so that each environment compiles again. Within
`NUMBA_CACHE_DIR` this names it by the content of all ops: by all, because a kernel has others inlined, whose
changes Numba does not see. Without that variable Numba keeps its own ways.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from types import FunctionType

import numba
from numba.core import config
from numba.core.caching import CacheImpl, _CacheLocator

_OPS = Path(__file__).parent


class OpsLocator(_CacheLocator):  # type: ignore[misc]
    """Locates the compiled code of a function in this folder by what the folder holds."""

    def __init__(self, function: FunctionType) -> None:
        self._py_file, self._line = str(_OPS), function.__code__.co_firstlineno
        self._path = str(Path(config.CACHE_DIR) / f"winnow-{_content()}")

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
        """What a compiled function must have been made of to be used."""
        return _content()

    def get_disambiguator(self) -> str:
        """Tells functions of one name in one file apart."""
        return str(self._line)


@cache
def _content() -> str:
    """A hash of the sources of all ops, and of Numba's version, which would overwrite what another has compiled."""
    digest = hashlib.sha256(numba.__version__.encode())
    for file in sorted(_OPS.glob("*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def share_compiled_ops() -> None:
    """Make Numba ask `OpsLocator` first."""
    if OpsLocator not in CacheImpl._locator_classes:
        CacheImpl._locator_classes.insert(0, OpsLocator)

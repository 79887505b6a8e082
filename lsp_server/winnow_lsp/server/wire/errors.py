"""The engine's errors as the protocol's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lsprotocol.types import LSPErrorCodes
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from winnow_engine.errors import PositionError, WinnowError


@contextmanager
def protocol_errors() -> Iterator[None]:
    """Turn what is the user's to know about into a response they can read, named in `data.kind`."""
    try:
        yield
    except PositionError as error:
        raise _invalid(error) from error
    except WinnowError as error:
        raise JsonRpcException(str(error), LSPErrorCodes.RequestFailed.value, _kind(error)) from error


@contextmanager
def parsing() -> Iterator[None]:
    """Turn a ValueError about what a request says into InvalidParams; elsewhere a ValueError is a bug of ours."""
    try:
        yield
    except ValueError as error:
        raise _invalid(error) from error


def superseded() -> JsonRpcException:
    """How a question ends that a newer one took the place of."""
    return JsonRpcException("superseded by a newer question", LSPErrorCodes.ServerCancelled.value)


def _invalid(error: Exception) -> JsonRpcInvalidParams:
    return JsonRpcInvalidParams(str(error), data=_kind(error))


def _kind(error: Exception) -> dict[str, str]:
    return {"kind": type(error).__name__}

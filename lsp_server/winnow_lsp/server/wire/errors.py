"""Turns the engine's errors into the protocol's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lsprotocol.types import LSPErrorCodes
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from winnow_engine.errors import PositionError, WinnowError


@contextmanager
def protocol_errors() -> Iterator[None]:
    """Turn the engine's errors into responses that a user can read; `data.kind` names the error's class."""
    try:
        yield
    except PositionError as error:
        raise _invalid(error) from error
    except WinnowError as error:
        raise JsonRpcException(str(error), LSPErrorCodes.RequestFailed.value, _kind(error)) from error


@contextmanager
def parsing() -> Iterator[None]:
    """Turn a ValueError into InvalidParams. For reading requests only: elsewhere a ValueError is a bug of ours."""
    try:
        yield
    except ValueError as error:
        raise _invalid(error) from error


def superseded() -> JsonRpcException:
    """The error of a question that a newer one has replaced."""
    return JsonRpcException("superseded by a newer question", LSPErrorCodes.ServerCancelled.value)


def _invalid(error: Exception) -> JsonRpcInvalidParams:
    return JsonRpcInvalidParams(str(error), data=_kind(error))


def _kind(error: Exception) -> dict[str, str]:
    return {"kind": type(error).__name__}

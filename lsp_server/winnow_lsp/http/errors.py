"""Refusals and failures as API responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from winnow_engine.errors import (
    BudgetError,
    ModelError,
    SchemaError,
    TargetProtocolError,
    TargetRefusedError,
    TargetTimeoutError,
    TargetUnreachableError,
    UnsupportedModelError,
    WinnowError,
)

_REMOTE = (TargetUnreachableError, TargetTimeoutError, TargetRefusedError, TargetProtocolError)


class ApiError(Exception):
    """An error response: its status, what is wrong, the field it is about, a code and details for programs."""

    def __init__(
        self,
        status: int,
        message: str,
        param: str | None = None,
        code: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.param, self.code, self.details = status, param, code, details

    @property
    def document(self) -> dict[str, Any]:
        """OpenAI's form of an error."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}


def api_error(error: WinnowError) -> ApiError:
    """An engine's error as a response. Its class name is the code where OpenAI defines none."""
    if isinstance(error, BudgetError):
        return ApiError(400, str(error), "messages", "context_length_exceeded")
    if isinstance(error, SchemaError):
        return ApiError(400, str(error), error.field, "unsupported_value")
    status = 502 if isinstance(error, _REMOTE) else 503 if isinstance(error, ModelError) else 500
    return ApiError(400 if isinstance(error, UnsupportedModelError) else status, str(error), None, type(error).__name__)

"""Refusals and failures as API responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from winnow_engine import errors
from winnow_engine.errors import BudgetError, SchemaError, WinnowError

_STATUSES: tuple[tuple[type[WinnowError], int], ...] = (
    (errors.UnsupportedModelError, 400),
    (errors.TargetUnreachableError, 502),
    (errors.TargetTimeoutError, 502),
    (errors.TargetRefusedError, 502),
    (errors.TargetProtocolError, 502),
    (errors.ModelError, 503),
    (WinnowError, 500),
)


class ApiError(Exception):
    """An error response: its status, what is wrong, the field it is about, a code and details for programs."""

    def __init__(
        self,
        status: int,
        message: str,
        param: str | None = None,
        code: str | None = None,
        details: Mapping[str, Any] | None = None,
        anthropic: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.param, self.code, self.details = status, param, code, details
        self.anthropic = anthropic or message
        """The message in Anthropic's API: clients look for that API's own words."""

    @property
    def document(self) -> dict[str, Any]:
        """OpenAI's form of an error."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}


def api_error(error: WinnowError) -> ApiError:
    """An engine's error as a response. Its class name is the code where OpenAI defines none."""
    if isinstance(error, BudgetError):
        return _too_long(error)
    if isinstance(error, SchemaError):
        return ApiError(400, str(error), error.field, "unsupported_value")
    status = next(status for kind, status in _STATUSES if isinstance(error, kind))
    return ApiError(status, str(error), None, type(error).__name__)


def _too_long(error: BudgetError) -> ApiError:
    """In the words by which clients of each API know that they must shorten the conversation, then in our own."""
    openai, anthropic = "The prompt exceeds the context window of this model", "prompt is too long"
    if isinstance(error, errors.PromptTooLongError):
        openai = f"This model's maximum context length is {error.context} tokens. However, your messages resulted in "
        openai += f"{error.tokens} tokens, and {error.most} leave room for an answer. Please reduce their length"
        anthropic += f": {error.tokens} tokens > {error.most} maximum"
    message, code = f"{openai}: {error}", "context_length_exceeded"
    return ApiError(400, message, "messages", code, anthropic=f"{anthropic}; {error}")

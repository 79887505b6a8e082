"""Fields of a request with their names and types checked, and refusals and failures as API responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
_KINDS = {str: "a string", list: "an array", dict: "an object", bool: "true or false", (int, float): "a number"}
_INSTEAD = dict.fromkeys(("conversation", "previous_response_id"), "nothing is stored, so send all messages as input")
_EMPTY: tuple[Any, ...] = (None, "", [], {})


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
        self.headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
        self.anthropic = anthropic or message  # the message in Anthropic's API: clients look for that API's own words

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


def typed(document: Mapping[str, Any], name: str, kind: type | tuple[type, ...], default: Any, place: str = "") -> Any:
    """A field's value; `default` where it is missing, None if it must be there. Raises ApiError, naming the field."""
    value = document.get(name)
    value = default if value is None else value
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        problem = "is missing" if value is None else f"must be {_KINDS[kind]}"
        raise ApiError(400, f"{place}{name} {problem}", f"{place}{name}")
    return value


def object_at(value: Any, place: str) -> dict[str, Any]:
    """The value if it is an object. Raises ApiError, which names its place."""
    if not isinstance(value, dict):
        raise ApiError(400, f"{place} is not an object", place)
    return value


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of an object that matter.

    `read` count, or nobody need hear that they do not. `refused` would change what the answer means. `neutral` values
    ask for what happens anyway. All others, known or not, are ignored. Empty fields are as good as left out.
    """

    read: frozenset[str]
    refused: frozenset[str] = frozenset()
    neutral: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def check(self, document: Mapping[str, Any], ignored: set[str], place: str = "") -> None:
        """Add the names of ignored fields to `ignored`. Raises ApiError for a field that is refused."""
        for name, value in document.items():
            if name in self.read or value in _EMPTY or value in self.neutral.get(name, ()):
                continue
            if name in self.refused:
                message = f"{place}{name} is not supported here: {_INSTEAD.get(name, 'leave it out')}"
                raise ApiError(400, message, f"{place}{name}", "unsupported_parameter")
            ignored.add(name)

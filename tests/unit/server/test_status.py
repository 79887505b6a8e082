"""What a status bar shows, by the states of models and index."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from winnow_engine.core import Progress
from winnow_lsp.host.engines import Engine, ModelState
from winnow_lsp.server.render.status import IndexState, status_json

_READY, _LOADING = ModelState("model", "ready"), ModelState("model", "loading")
_FAILED = ModelState("model", "failed", "no such model")


def _status(
    drafter: ModelState, target: ModelState, *, running: int = 0, working: bool = False, error: str | None = None
) -> dict[str, Any]:
    queue = SimpleNamespace(running=running, waiting=0)
    engine = cast(Engine, SimpleNamespace(drafter=drafter, target=target, queue=queue))
    return status_json(engine, IndexState(Progress(0, 0, 0, 0), 0, working, error), "")


@pytest.mark.parametrize(
    ("models", "facts", "state"),
    [
        ((_READY, _READY), {}, "ready"),
        ((_READY, _READY), {"error": "the folder is gone"}, "error"),
        ((_READY, _READY), {"running": 1}, "answering"),
        ((_LOADING, _READY), {}, "loading"),
        ((_LOADING, _READY), {"error": "no such model"}, "loading"),
        ((_LOADING, _READY), {"working": True, "error": "no such model"}, "indexing"),
        ((_FAILED, _READY), {"error": "no such model"}, "error"),
        ((_READY, _FAILED), {"running": 1}, "error"),
    ],
)  # fmt: skip
def test_the_state_follows_models_and_index(
    models: tuple[ModelState, ModelState], facts: dict[str, Any], state: str
) -> None:
    assert _status(*models, **facts)["state"] == state


def test_a_status_shows_one_moment() -> None:
    """A model that fails while the status is read is either loading or failed in it, not both."""
    states = iter([_LOADING, _FAILED, _FAILED])

    class Opening:
        queue, target = SimpleNamespace(running=0, waiting=0), _READY
        drafter = property(lambda self: next(states))

    document = status_json(cast(Engine, Opening()), IndexState(Progress(0, 0, 0, 0), 0, False, None), "")
    assert (document["state"], document["models"]["drafter"]["state"]) == ("loading", "loading")

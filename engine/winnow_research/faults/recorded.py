"""The program whose writes are recorded: `python -m winnow_research.faults.recorded PLACE NOTES [OUT]`.

It brings the index of the workspace in PLACE up to date, and notes each time which keys the store has stored. With
OUT it publishes the index there instead.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, cast

from winnow_engine.assistant import Assistant
from winnow_engine.core import Folder
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.index.workspace import Sources
from winnow_engine.storage.store import Store
from winnow_research.faults.counting_drafter import CountingDrafter
from winnow_research.faults.home import Home, lower_thresholds


def noting(store: Callable[..., Any], how: str, notes: int) -> Callable[..., Any]:
    """The same method, which notes the names of the records once it has returned."""

    def stored(self: Store, namespace: str, records: dict[str, Any]) -> Any:
        result = store(self, namespace, records)
        if namespace.startswith("keys-") and result is not False:
            os.write(notes, json.dumps([how, list(records)]).encode())
        return result

    return stored


def publish_index(home: Home, out: Path) -> None:
    """What `winnow index --out` does."""
    with (
        closing(Store(home.cache / "index.sqlite")) as store,
        closing(Assistant(store, lambda: cast("Drafter", CountingDrafter()))) as assistant,
    ):
        assistant.publish(assistant.index(Sources((Folder(home.root),))), out, "project")


def main(place: str, notes: str, out: str | None = None) -> None:
    """Index or publish."""
    lower_thresholds()
    home = Home(Path(place), Random())
    handle = os.open(notes, os.O_WRONLY | os.O_CREAT)
    Store.put_many = noting(Store.put_many, "row", handle)  # type: ignore[method-assign]
    Store.pack = noting(Store.pack, "pack", handle)  # type: ignore[method-assign]
    if out is None:
        home.index()
    else:
        publish_index(home, Path(out))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The program whose writes are recorded: `python -m injection.recorded PLACE NOTES [OUT]`.

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

from injection.home import CountingDrafter, Home, lower_thresholds
from winnow_engine.core import Cancellation, Folder, ignore_progress
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.indexing import record_names, restore_records
from winnow_engine.index.workspace import Sources, read_workspace
from winnow_engine.selection.key_cache import KeyCache
from winnow_engine.sharing.publishing import publish
from winnow_engine.store import Store


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
    with closing(Store(home.cache / "index.sqlite")) as store:
        read = read_workspace(Sources((Folder(home.root),)), store, Cancellation())
        keys = KeyCache(store, cast("Drafter", CountingDrafter()))
        keys.of(read, ignore_progress, Cancellation())
        restore_records(read.files, store)
        names = record_names(read.files) | keys.record_names(read)
        publish(store, names, len(read.files), out, "project")


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

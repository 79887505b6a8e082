"""The last conversation about each workspace, which `winnow ask -c` continues."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from typing import Any

import click

from winnow_engine.core import Folder
from winnow_engine.errors import WorkspaceError
from winnow_engine.question import Question, Turn
from winnow_lsp.cli.options import folders_of
from winnow_lsp.cli.setting_options import config_of

_NAMESPACE = "last-conversation-1"


def last_turns(options: Mapping[str, Any]) -> tuple[Turn, ...]:
    """The turns of the last conversation about a command's workspace. A usage error if there is none."""
    from winnow_engine.storage.store import Store, default_path

    key = _key(folders_of(options))
    with closing(Store(default_path())) as store:
        record = store.get(_NAMESPACE, [key]).get(key)
    if record is None:
        raise click.UsageError("there is no conversation about this workspace to continue: ask without -c first")
    return tuple(Turn(**turn) for turn in json.loads(record["json"].tobytes()))


def keep_turns(asked: Question, answer: str, options: Mapping[str, Any]) -> None:
    """Keep the conversation after a question was answered, if the settings let any be kept."""
    import numpy as np

    from winnow_engine.storage.store import Store, default_path

    if not config_of(options).models.keeps_prompts:
        return
    turns = [asdict(turn) for turn in (*asked.earlier, Turn(asked.text, answer))]
    document = np.frombuffer(json.dumps(turns).encode(), np.uint8)
    with suppress(WorkspaceError), closing(Store(default_path())) as store:
        store.put(_NAMESPACE, _key(folders_of(options)), {"json": document})


def _key(folders: Sequence[Folder]) -> str:
    roots = json.dumps(sorted(str(folder.root) for folder in folders))
    return hashlib.blake2b(roots.encode(), digest_size=20).hexdigest()

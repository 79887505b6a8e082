"""An editor whose target is a server of ours, which stands in for a model."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from ...unit.targets.hostile import Hostile, large, served
from ..capabilities import EDITORS
from ..conftest import SETTINGS
from .asking import FIX, answering


@pytest.fixture
def hostile() -> Iterator[Hostile]:
    with served(Hostile(answering(FIX), large)) as hostile:
        yield hostile


@pytest.fixture
def file(own_folder: Path) -> Path:
    return own_folder / "shop" / "pricing.py"


@pytest.fixture
def editing(connect, hostile: Hostile, own_folder: Path) -> Any:
    """Connects an editor whose target is the server above."""

    async def connected(editor: str | types.ClientCapabilities = "vscode") -> Any:
        options = {**SETTINGS, "target": hostile.url}
        able = EDITORS[editor] if isinstance(editor, str) else editor
        client = await connect(own_folder, capabilities=able, options=options)
        client.set_configuration({"winnow": options})
        return client

    return connected

"""What tests of the command line share."""

import os
import sys
from collections.abc import Iterator

import pytest


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Where a terminal's user types."""
    keyboard, terminal = os.openpty()
    with os.fdopen(terminal, "r+b", buffering=0) as raw, open(raw.fileno(), closefd=False) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        yield keyboard
    os.close(keyboard)

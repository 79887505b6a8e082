"""Options of `winnow serve --http`: the models, and the disk that they may use."""

from typing import Any

import pytest

from winnow_lsp.cli import serve
from winnow_lsp.cli.main import main
from winnow_lsp.http import app


def test_the_index_has_its_share_of_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Any] = []
    monkeypatch.setattr(serve, "check_models", lambda *_, **__: None)
    monkeypatch.setattr(app, "serve_http", lambda models, store, *_: served.append((models, store.max_bytes)))
    assert main(["serve", "--http", "0", "--set", "cacheMegabytes=30"]) == 0
    [(models, max_bytes)] = served
    assert models.cache_megabytes == 30
    assert max_bytes == 20 * 10**6

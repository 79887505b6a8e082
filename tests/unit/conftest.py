"""A workspace of three files small enough to know by heart."""

from collections.abc import Callable
from pathlib import Path

import pytest
from git_repositories import new, sources_of, write

from winnow_engine.core import Cancellation, Folder
from winnow_engine.index.workspace import Sources, Workspace, read_workspace
from winnow_engine.storage.store import Store

FILES = {
    "src/shop/basket.py": (
        "import os\n\n\ndef total_price(items):\n    return sum(item.price for item in items)\n\n\n"
        "def checkout(items):\n    return send_order(total_price(items))\n"
    ),
    "src/shop/orders.py": (
        "def send_order(amount):\n    return amount\n\n\ndef cancel(order):\n    order.cancelled = True\n"
    ),
    "docs/guide.md": "# Guide\n\nHow to order things.\n\n## Prices\n\nPrices come with tax.\n",
}


def written(files: dict[str, str], folder: Path) -> Workspace:
    """A workspace of these files, under `folder`."""
    root = folder / "root"
    write(root, files)
    store = Store(folder / "index.sqlite")
    read = read_workspace(Sources((Folder(root),)), store, Cancellation())
    store.close()
    return read


@pytest.fixture(scope="session")
def workspace_of() -> Callable[[dict[str, str], Path], Workspace]:
    return written


@pytest.fixture
def read(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Workspace]:
    """Reads the workspace of some folders."""
    store = Store(tmp_path_factory.mktemp("store") / "index.sqlite")

    def reading(*roots: Path, **more: bytes) -> Workspace:
        return read_workspace(sources_of(*roots, **more), store, Cancellation())

    return reading


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A repository without commits."""
    return new(tmp_path / "project")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return written(FILES, tmp_path)

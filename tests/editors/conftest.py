"""What every editor's test needs: a small project to ask about, and how to start the server on it."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from git_repositories import write

from winnow_engine.errors import ModelError
from winnow_engine.models import cache

MODEL = "smollm2-135m"

PROJECT = {
    "README.md": """
        # Shop

        Orders are priced in `shop/pricing.py` and paid in `shop/checkout.py`. Amounts are whole cents.
        """,
    "shop/__init__.py": '''
        """A small shop."""
        ''',
    "shop/catalog.py": '''
        """What the shop sells."""

        from dataclasses import dataclass


        @dataclass(frozen=True)
        class Product:
            name: str
            price_cents: int
            heavy: bool = False


        PRODUCTS = {
            product.name: product
            for product in (Product("tea", 450), Product("kettle", 3900), Product("anvil", 12000, heavy=True))
        }


        def find(name: str) -> Product:
            """The product called `name`; KeyError if the shop does not sell it."""
            return PRODUCTS[name]
        ''',
    "shop/pricing.py": '''
        """What an order costs."""

        from shop.catalog import find

        HEAVY_FEE_CENTS = 1500
        BULK_FROM = 10


        def unit_price(name: str, count: int) -> int:
            """The price of one piece in cents; ten or more pieces are a tenth cheaper."""
            price = find(name).price_cents
            return price * 9 // 10 if count >= BULK_FROM else price


        def delivery(names: list[str]) -> int:
            """The fee for delivery in cents: free unless something is heavy."""
            return HEAVY_FEE_CENTS if any(find(name).heavy for name in names) else 0


        def total(order: dict[str, int]) -> int:
            """What the order costs with delivery, in cents; `order` maps names to counts."""
            goods = sum(unit_price(name, count) * count for name, count in order.items())
            return goods + delivery(list(order))
        ''',
    "shop/checkout.py": '''
        """Paying for an order."""

        from shop.pricing import total


        class NotEnoughMoney(Exception):
            """The customer cannot pay for the order."""


        def pay(order: dict[str, int], wallet_cents: int) -> int:
            """Pay for the order and return what is left in the wallet, in cents."""
            cost = total(order)
            if cost > wallet_cents:
                raise NotEnoughMoney(f"{cost - wallet_cents} cents missing")
            return wallet_cents - cost
        ''',
    "tests/test_checkout.py": """
        from shop.checkout import pay


        def test_change_is_returned():
            assert pay({"tea": 2}, 1000) == 100


        def test_bulk_is_cheaper():
            assert pay({"tea": 10}, 5000) == 950
        """,
}


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, and beside it a standard library module that is longer than the prompt of a question."""
    root = tmp_path_factory.mktemp("workspace") / "shop"
    write(root, {name: textwrap.dedent(text).lstrip("\n") for name, text in PROJECT.items()})
    (root / "shop" / "options.py").write_bytes(Path(textwrap.__file__).with_name("getopt.py").read_bytes())
    subprocess.run(["git", "init", "--quiet", root], check=True)  # how editors find a project's root
    return root


@pytest.fixture(scope="session")
def server_command() -> list[str]:
    return [sys.executable, "-m", "winnow_lsp", "serve"]


@pytest.fixture(scope="session")
def server_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An index of its own; the models are the ones that `winnow models pull` fetched."""
    try:
        cache.path(MODEL)
    except ModelError as error:
        pytest.fail(f"editors are tested with real weights: {error}", pytrace=False)
    return {**os.environ, "WINNOW_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture(scope="session")
def settings() -> dict[str, object]:
    """The server's `initializationOptions`: a small model in both roles, prompts and answers that do not take long."""
    return {
        "drafter": MODEL,
        "target": MODEL,
        "budget": 200,
        "cacheMegabytes": 30,  # too little for snapshots: some wait for the target to read
        "maxTokens": 24,
    }

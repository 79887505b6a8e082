"""Changes of the code with real weights: what a 1.5B model gets right, from the request to the file as it would be."""

import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Folder, Sampling
from winnow_engine.editing.proposing import Proposal, propose
from winnow_engine.editing.request import EditKind, WantedEdit
from winnow_engine.index.workspace import Sources
from winnow_engine.question import Cursor

from .assistants import opened

pytestmark = pytest.mark.real_weights

FILES = {
    "shop/pricing.py": '''
        """What an order costs."""

        BULK_FROM = 10


        def unit_price(price_cents: int, count: int) -> int:
            """The price of one piece in cents; ten or more pieces are a tenth cheaper."""
            return price_cents * 9 // 10 if cuont >= BULK_FROM else price_cents


        def delivery(heavy: bool) -> int:
            return 1500 if heavy else 0
        ''',
}


@pytest.fixture(scope="module")
def assistant(smollm2: Path, qwen_target: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assistant]:
    with opened(tmp_path_factory.mktemp("store"), smollm2, qwen_target) as assistant:
        yield assistant


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(textwrap.dedent(text).lstrip("\n"))
    return tmp_path


def proposed(assistant: Assistant, shop: Path, kind: EditKind, at: str, *problems: str) -> Proposal:
    lines = (shop / "shop" / "pricing.py").read_text().split("\n")
    line = next(number for number, text in enumerate(lines, 1) if at in text)
    request = WantedEdit(kind, Cursor("shop/pricing.py", line, line), problems)
    return propose(assistant, Sources((Folder(shop),)), request, Budget(keep_tokens=300), Sampling())


def test_a_misspelt_name_is_mended(assistant: Assistant, shop: Path) -> None:
    proposal = proposed(assistant, shop, EditKind.FIX, "cuont", "undefined name `cuont`")
    before = (shop / "shop" / "pricing.py").read_text()
    assert proposal.edit.after.decode() == before.replace("cuont", "count")
    assert proposal.sound
    assert (shop / "shop" / "pricing.py").read_text() == before


def test_a_docstring_is_all_that_documenting_adds(assistant: Assistant, shop: Path) -> None:
    proposal = proposed(assistant, shop, EditKind.DOCUMENT, "def delivery")
    changed = [line for line in proposal.edit.diff.split("\n")[2:] if line.startswith(("+", "-"))]
    assert changed[0].startswith('+    """')
    assert all(line.startswith("+") for line in changed)
    assert changed[-1].endswith('"""')

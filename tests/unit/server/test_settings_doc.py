import json
import re
from pathlib import Path

from winnow_lsp.server.settings import SECTION, SETTINGS

DOCUMENT = Path(__file__).parents[3] / "docs" / "settings.md"
ROW = re.compile(rf"\| `{SECTION}\.([\w.]+)` \| (.*) \| (.*) \| `(.*)` \|")


def test_every_setting_is_documented_as_it_is() -> None:
    rows = [match.groups() for match in map(ROW.fullmatch, DOCUMENT.read_text().splitlines()) if match]
    assert rows == [(s.name, s.meaning, s.rule.words, json.dumps(s.default)) for s in SETTINGS]

"""A table is added at the end of a TOML file and taken out again; nothing else changes."""

import tomllib
from typing import Any

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from winnow_lsp.mcp.setup import toml_text

ENTRY = {"command": 'C:\\a "b"\\winnow.exe', "args": ["mcp", "--target=é\x7f"]}
KEYS = ("mcp_servers",)
BLOCK = tomlkit.dumps({"mcp_servers": {"winnow": ENTRY}})

names = st.text(alphabet="ab. \"'é", max_size=3)
values = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
tails = st.sampled_from(["", "\n", "\n\n", "# end", "# [mcp_servers.winnow]\n"])


@given(st.dictionaries(names, values, max_size=3), st.dictionaries(names, values, max_size=2), tails)
def test_adding_and_removing_is_the_identity(data: dict[str, Any], servers: dict[str, Any], tail: str) -> None:
    tables = {"mcp_servers": {name: {"env": value} for name, value in servers.items()}} if servers else {}
    text = tomlkit.dumps({**data, **tables}) + tail
    added = toml_text.add(text, KEYS, "winnow", ENTRY)
    assert added.startswith(text)
    found = tomllib.loads(added)
    assert found["mcp_servers"].pop("winnow") == ENTRY
    assert toml_text.remove(added, KEYS, "winnow") == text


@pytest.mark.parametrize("text", [None, "", "\n", 'model = "a" # mine', 'model = "a"\r\n[tui]\r\n', "\ufeffa = nan\n"])
def test_the_old_bytes_come_back(text: str | None) -> None:
    assert toml_text.remove(toml_text.add(text, KEYS, "winnow", ENTRY), KEYS, "winnow") == text


def test_a_table_in_the_middle_goes_alone() -> None:
    text = f"# mine\na = 1\n\n{BLOCK}env = {{A = '1'}} # edited\n\n[tui]\nb = 0x10 # hex\n"
    assert toml_text.remove(text, KEYS, "winnow") == "# mine\na = 1\n\n[tui]\nb = 0x10 # hex\n"


@pytest.mark.parametrize(("text", "why"), [("mcp_servers = {}\n", "mcp_servers"), ("a = \n", "Invalid value")])
def test_what_cannot_be_added_to_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        toml_text.add(text, KEYS, "winnow", ENTRY)

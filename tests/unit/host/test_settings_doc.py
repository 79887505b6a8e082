import json
import re
from pathlib import Path
from typing import Any

import jsonschema

from winnow_lsp.host.settings import BY_NAME, SECTION, SETTINGS

ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "docs" / "settings.md"
EXTENSION = ROOT / "vscode-extension" / "package.json"
AGENTS = ROOT / "vscode-extension" / "src" / "agents" / "options.ts"
OF_THE_EXTENSION = ("winnow.server.", "winnow.trace.")
SHARES = ("0%", "00%", "0.0%", "00.00%", "0.5%", "05%", "10%", "99.9%", "100%", "101%")
VALUES: tuple[Any, ...] = (None, True, -1, 0, 1, 7, 0.5, "x", "off", "on", "q8_0", "cpu", [], ["x"], [1], {}, *SHARES)
ROW = re.compile(rf"\| `{SECTION}\.([\w.]+)` \| (.*) \| (.*) \| `(.*)` \|")


def test_every_setting_is_documented_as_it_is() -> None:
    rows = [(name, allowed, default) for name, _, allowed, default in _rows()]
    assert rows == [(s.name, s.rule.words, json.dumps(s.default)) for s in SETTINGS]


def test_the_vscode_extension_has_every_setting_as_it_is_and_few_of_its_own() -> None:
    properties, meanings = _properties(), {name: meaning for name, meaning, _, _ in _rows()}
    servers = {name: setting for name, setting in properties.items() if not name.startswith(OF_THE_EXTENSION)}
    assert list(servers) == [f"{SECTION}.{s.name}" for s in SETTINGS]
    for setting in SETTINGS:
        found = servers[f"{SECTION}.{setting.name}"]
        scope = found.pop("scope")
        assert scope == "machine" if setting.of_user else scope in ("window", "machine-overridable")
        assert found.pop("markdownDescription") == meanings[setting.name]
        assert found.pop("default") == setting.default
        for value in (*VALUES, setting.default):
            valid = jsonschema.Draft202012Validator(found).is_valid(value)
            assert valid == setting.rule.allows(value), (setting.name, value)


def test_no_workspace_sets_in_vscode_where_code_is_sent_what_is_run_and_the_disk_of_others() -> None:
    scopes = {name: setting["scope"] for name, setting in _properties().items()}
    names = ("cacheMegabytes", "server.path", "server.package", "target", "index.shared")
    assert {scopes[f"{SECTION}.{name}"] for name in names} == {"machine"}


def test_settings_of_the_vscode_extension_alone_are_documented() -> None:
    guide = (ROOT / "docs" / "editors" / "vscode.md").read_text()
    rows = dict(re.findall(r"^\| `(winnow\.[\w.]+)` \| .* \| `(.*)` \|$", guide, re.MULTILINE))
    own = {name: s["default"] for name, s in _properties().items() if name.startswith(OF_THE_EXTENSION)}
    assert rows == {name: json.dumps(default) for name, default in own.items()}


def test_the_vscode_extension_passes_on_to_agents_what_does_not_only_concern_editors() -> None:
    names = set(re.findall(r"'([\w.]+)'", AGENTS.read_text()))
    assert names & BY_NAME.keys() == BY_NAME.keys() - {"index.automatic", "codeLens.enabled"}


def _rows() -> list[tuple[str, ...]]:
    return [match.groups() for match in map(ROW.fullmatch, DOCUMENT.read_text().splitlines()) if match]


def _properties() -> dict[str, Any]:
    package = json.loads(EXTENSION.read_text())
    properties: dict[str, Any] = package["contributes"]["configuration"]["properties"]
    return properties

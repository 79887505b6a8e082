"""What clients say they can do: the least, everything, and what editors send."""

from lsprotocol import types
from lsprotocol.converters import get_converter
from pytest_lsp import client_capabilities

_CONVERTER = get_converter()
_KINDS = ["quickfix", "refactor", "refactor.extract", "refactor.inline", "refactor.rewrite", "source"]


def capabilities(document: dict[str, object]) -> types.ClientCapabilities:
    """From JSON."""
    return _CONVERTER.structure(document, types.ClientCapabilities)


PLAIN = types.ClientCapabilities()

EVERYTHING = capabilities(
    {
        "window": {"workDoneProgress": True, "showDocument": {"support": True}},
        "workspace": {"workspaceFolders": True, "didChangeWatchedFiles": {"dynamicRegistration": True}},
        "textDocument": {
            "codeAction": {
                "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", *_KINDS]}},
                "dataSupport": True,
                "resolveSupport": {"properties": ["edit", "command"]},
            }
        },
    }
)

NEOVIM = client_capabilities("neovim@v0.11.0")


def _vscode() -> types.ClientCapabilities:
    """VS Code as vscode-languageclient 10 makes it, as far as it differs from what pytest-lsp recorded."""
    recorded = client_capabilities("visual-studio-code@v1.65.2")
    recorded.general.position_encodings = ["utf-16"]
    recorded.text_document.code_action.resolve_support.properties = ["edit", "command"]
    return recorded


VSCODE = _vscode()

EGLOT = capabilities(  # `eglot-client-capabilities` of eglot 1.9
    {
        "workspace": {
            "applyEdit": True,
            "executeCommand": {"dynamicRegistration": False},
            "workspaceEdit": {"documentChanges": True},
            "didChangeWatchedFiles": {"dynamicRegistration": True},
            "symbol": {"dynamicRegistration": False},
            "configuration": True,
            "workspaceFolders": True,
        },
        "textDocument": {
            "synchronization": {
                "dynamicRegistration": False,
                "willSave": True,
                "willSaveWaitUntil": True,
                "didSave": True,
            },
            "hover": {"dynamicRegistration": False, "contentFormat": ["plaintext"]},
            "codeAction": {
                "dynamicRegistration": False,
                "codeActionLiteralSupport": {"codeActionKind": {"valueSet": _KINDS}},
                "isPreferredSupport": True,
            },
            "publishDiagnostics": {"relatedInformation": False, "codeDescriptionSupport": False},
        },
        "experimental": {},
    }
)

EDITORS = {"neovim": NEOVIM, "vscode": VSCODE, "eglot": EGLOT}

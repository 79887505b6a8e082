"""What tests of changes ask, and what the model answers."""

from pathlib import Path
from typing import Any

from lsprotocol import types

from ...unit.targets.hostile import DONE, event

INVALID_PARAMS, REQUEST_FAILED, REQUEST_CANCELLED = -32602, -32803, -32800
BROKEN, FIXED = "else price_cents", "else price_cents * count"
FIX = (
    "```python\ndef unit_price(price_cents: int, count: int) -> int:\n"
    '    """The price of one piece in cents; ten or more pieces are a tenth cheaper."""\n'
    "    return price_cents * 9 // 10 if count >= 10 else price_cents * count\n```"
)
PROBLEM = types.Diagnostic(types.Range(types.Position(7, 4), types.Position(7, 10)), "forgets the count")


def answering(text: str) -> Any:
    return lambda talk: talk.stream(
        *(event(text[n : n + 9]) for n in range(0, len(text), 9)), event(finish="stop"), DONE
    )


def asked(file: Path, change: str = "fix", line: int = 7, **more: Any) -> dict[str, Any]:
    at = {"line": line, "character": 4}
    place = {"textDocument": {"uri": file.as_uri()}, "range": {"start": at, "end": at}}
    problems = {"diagnostics": [{"message": PROBLEM.message}]} if change == "fix" else {}
    return {"change": change, **place, **problems, **more}


async def picked(client, file: Path, title: str) -> types.Command:
    """The command of the code action with a title, as an editor gets it when the user picks the action."""
    where = types.Range(types.Position(7, 4), types.Position(7, 4))
    params = types.CodeActionParams(
        types.TextDocumentIdentifier(file.as_uri()), where, types.CodeActionContext([PROBLEM])
    )
    actions = await client.text_document_code_action_async(params)
    (action,) = [one for one in actions if one.title == title]
    return action.command

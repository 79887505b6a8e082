import logging
from pathlib import Path

import pytest

from winnow_engine.core import Span, UnitKind
from winnow_engine.prompting.conversation import Conversation, Conversations
from winnow_engine.prompting.messages import Message
from winnow_engine.question import Turn
from winnow_engine.storage.store import Store

TURNS = (Turn("What is it?", "A thing."), Turn("Why?", "Because \u2028 of 😀 and \udc80."))
HAD = Conversation(
    TURNS,
    (Message("system", "Answer."), Message("user", "a.py:1-2\n x\n"), Message("assistant", "A thing.")),
    (Span("a.py", 1, 2, 9, -0.5, UnitKind.METHOD, "A.b", {"words": 1.5}), Span("b.py", 3, 3, 1, 0.0, UnitKind.BLOCK)),
    ("x\n", ""),
)
OTHER = Conversation((Turn("Who?", "Me."),), (), (), ())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.sqlite"


def test_all_come_back_as_they_were_in_another_process(path: Path) -> None:
    remembered = Conversations(Store(path))
    remembered.add(HAD)
    remembered.add(OTHER)
    assert remembered.with_turns(TURNS) == HAD
    again = Conversations(Store(path))
    assert again.with_turns(TURNS) == HAD
    assert again.with_turns(OTHER.turns) == OTHER
    assert again.with_turns(TURNS[:1]) is None
    assert again.with_turns(()) is None


def test_without_leave_nothing_is_written(path: Path) -> None:
    store = Store(path)
    Conversations(None).add(HAD)
    assert Conversations(store).with_turns(TURNS) is None


def test_a_disk_that_refuses_costs_only_memory(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = Store(path)
    remembered = Conversations(store)
    store.close()
    with caplog.at_level(logging.WARNING):
        remembered.add(HAD)
    assert remembered.with_turns(TURNS) is HAD
    assert "will not outlive this process" in caplog.text

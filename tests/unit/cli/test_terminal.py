"""What others wrote does not steer the terminal that shows it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import git_repositories as git
import pytest
from click.testing import CliRunner

from winnow_engine.core import Kept, Span, UnitKind
from winnow_lsp.cli import ask, doctor
from winnow_lsp.cli.main import main
from winnow_lsp.cli.report import _places
from winnow_lsp.cli.terminal import harmless, show_json
from winnow_lsp.client.connection import Listener
from winnow_lsp.host.reply import Reply

TITLE = "\x1b]0;yours\x07"
SHOWN = "\\x1b]0;yours\\x07"
SPAN = Span("README.md", 1, 3, 41, 1.5, UnitKind.SECTION, f"About {TITLE}")


def test_only_what_a_terminal_obeys_is_escaped() -> None:
    assert harmless(f"a\tb\r\n{TITLE}\x9b2J é👩‍💻\n") == f"a\tb\n{SHOWN}\\x9b2J é👩‍💻\n"
    assert harmless("100 %\rdone") == "100 %\\x0ddone"


def test_json_is_escaped_so_that_it_means_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    document = {f"é{TITLE}": ["\x9b2J\x7f", "\udc80"]}
    show_json(document)
    printed = capsys.readouterr().out
    assert printed == '{"é\\u001b]0;yours\\u0007": ["\\u009b2J\\u007f", "\\udc80"]}\n'
    assert json.loads(printed) == document


def test_a_commit_message_is_shown_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git.commit(git.new(tmp_path), f"Charge for delivery {TITLE}", {"a.py": "x = 1\n"})
    assert main(["when", "-n", "1", "What about delivery?", "-w", str(tmp_path)]) == 0
    assert f"Charge for delivery {SHOWN}" in capsys.readouterr().out


def test_what_a_server_calls_its_model_is_shown_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_findings", lambda: [doctor.Check(True, "target", TITLE)])
    done = CliRunner().invoke(doctor.doctor, color=True)
    assert done.output == f"ok       target: {SHOWN}\n"


def test_an_answer_and_the_names_of_what_was_kept_are_shown_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def answered(
        _asked: Any, _options: Any, _server: bool, listener: Listener, *_: Any
    ) -> Iterator[tuple[Reply, bool]]:
        listener.on_kept(Kept((SPAN,), None))
        listener.on_text(TITLE)
        stats = {"indexed_tokens": 1, "workspace_tokens": 1}
        yield Reply(TITLE, (), (SPAN,), stats, "eos", (TITLE,)), False

    monkeypatch.setattr(ask, "answered", answered)
    monkeypatch.setattr(ask, "stats_line", lambda _: "")
    monkeypatch.setattr(ask, "with_target", lambda options: options)
    done = CliRunner().invoke(ask.ask, ["Why?", "--show-spans"], color=True)
    assert done.exit_code == 0, done.output
    assert done.output.count(SHOWN) == 3
    assert not {"\x1b", "\x07"} & set(done.output)


def test_places_are_shown_as_text_while_the_target_reads() -> None:
    (line,) = _places((SPAN,))
    assert line.plain.endswith(SHOWN)

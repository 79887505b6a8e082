"""The kept places come before the first token: from the engine, and on a terminal."""

import os
import pty
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from winnow_engine.assistant import Assistant
from winnow_engine.config import FileRules, TargetOptions
from winnow_engine.core import Budget, Cancellation, Folder, Kept, Sampling, ignore
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.index.workspace import Sources
from winnow_engine.question import Cursor, Question
from winnow_engine.storage.store import Store, default_path
from winnow_engine.targets.base import Target
from winnow_engine.targets.local.target import LlamaTarget

pytestmark = pytest.mark.real_weights

WORKSPACE = Path(__file__).parents[2] / "engine" / "winnow_engine" / "index"
FILES = ("bm25.py", "lines.py", "units.py")
SOURCES = Sources((Folder(WORKSPACE),), FileRules(include=FILES))
QUESTION = Question("How is a file cut into units?")


@pytest.fixture
def gate() -> threading.Event:
    """Set it to let the target load."""
    return threading.Event()


@pytest.fixture
def assistant(
    smollm2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gate: threading.Event
) -> Iterator[Assistant]:
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path))

    def open_target() -> Target:
        gate.wait()
        return LlamaTarget.open(smollm2, TargetOptions(place="cpu"))

    with closing(Store(default_path())) as store:
        one = Assistant(store, lambda: Drafter(smollm2), open_target)
        yield one
        gate.set()
        one.close()


def test_the_kept_code_is_told_before_the_answer_and_while_the_target_still_loads(
    assistant: Assistant, gate: threading.Event
) -> None:
    told: list[Kept | str] = []

    def on_kept(kept: Kept) -> None:
        told.append(kept)
        if not kept.provisional:
            gate.set()  # without it the target would never load

    for _ in range(2):
        answer = assistant.ask(
            SOURCES, QUESTION, Budget(keep_tokens=300), Sampling(max_tokens=2), told.append, on_kept=on_kept
        )
    first, *kept = (one for one in told if isinstance(one, Kept))
    assert [isinstance(one, Kept) for one in told[:4]] == [True, True, True, False]
    assert first.provisional, "nothing was indexed"
    assert "units.py" in {span.path for span in first.spans}
    assert not any(one.provisional for one in kept)
    assert isinstance(told[-1], str)
    for one in kept:
        assert {(s.path, s.start_line) for s in one.spans} == {(s.path, s.start_line) for s in answer.spans}
        assert [span.score for span in one.spans] == sorted((span.score for span in one.spans), reverse=True)
    # Nothing is known before the target is there. The second prompt is the first one: its last token is read again.
    assert [one.seconds is None for one in kept] == [True, False, False]
    generation = answer.stats.generation
    assert generation.prompt_tokens - generation.reused_tokens == 1
    throughput = answer.stats.prefill_tokens_per_s
    assert throughput is not None
    assert assistant.target is not None
    learned = assistant.target.wait_for(Cancellation())._session.throughput
    tokens = generation.prompt_tokens
    assert kept[-1].seconds == pytest.approx(learned.seconds(tokens - 1, tokens, 1 / throughput))
    told.clear()
    elsewhere = replace(QUESTION, cursor=Cursor("bm25.py", 1, 1))
    assistant.ask(SOURCES, elsewhere, Budget(keep_tokens=300), Sampling(max_tokens=2), ignore, on_kept=on_kept)
    assert told[-1].spans[0].path == "bm25.py", "the code at the cursor comes first"


def test_a_terminal_shows_them_until_the_answer_begins(smollm2: Path, tmp_path: Path) -> None:
    terminal, theirs = pty.openpty()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "winnow_lsp", "ask", QUESTION.text, "-w", str(WORKSPACE)),
            *("--drafter", "smollm2-135m", "--target", "smollm2-135m", "--budget", "300", "--set", "maxTokens=4"),
            *(f"--set=files.include={name}" for name in FILES),
        ],
        env={**os.environ, "WINNOW_CACHE_DIR": str(tmp_path), "TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b"".join(iter(lambda: _read(terminal), b"")).decode()
    output = process.communicate()[0].decode()
    assert process.returncode == 0, shown
    assert "units.py:" in shown
    last_erased = shown.rindex("\x1b[2K")
    assert "units.py:" not in shown[last_erased:]
    assert "\x1b" not in output


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # closed by the other side
        return b""

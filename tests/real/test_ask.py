"""`winnow ask` and `winnow spans` as processes, on a real repository with real weights."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from winnow_lsp.cli.main import main

pytestmark = pytest.mark.real_weights

REPOSITORY = Path(__file__).parents[2] / "engine"
QUESTION = "Which function cuts a file's tokens into segments at unit borders?"
KEYS = {"workspace_tokens", "kept_tokens", "ttft_s", "stages", "decode_tokens", "decode_tokens_per_s"}


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def run(cache: Path, smollm2: Path):
    def run(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*arguments), env=environment(cache), capture_output=True, text=True, timeout=600, **options
        )

    return run


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "winnow_lsp", *arguments]


def environment(cache: Path) -> dict[str, str]:
    return {**os.environ, "WINNOW_CACHE_DIR": str(cache)}


MODELS = ("--drafter", "smollm2-135m", "--target", "smollm2-135m")
SMALL = ("-w", str(REPOSITORY / "winnow_engine" / "encoder"))
for name in ("segments.py", "template.py", "weights.py"):  # so few that they are all indexed for an answer
    SMALL = (*SMALL, "--set", f"files.include={name}")


def test_ask_prints_one_json_object_with_everything(run) -> None:
    done = run("ask", QUESTION, *SMALL, *MODELS, "--budget", "300", "--set", "maxTokens=16", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["answer"].strip()
    assert set(answer["stats"]) >= KEYS
    assert answer["stats"]["kept_tokens"] <= 300 < answer["stats"]["workspace_tokens"]
    assert answer["stats"]["ttft_s"] == pytest.approx(sum(answer["stats"]["stages"].values()), abs=0.1, rel=0.02)
    for item in answer["spans"] + answer["citations"]:
        lines = (REPOSITORY / "winnow_engine" / "encoder" / item["path"]).read_text().splitlines()
        assert 1 <= item["start_line"] <= item["end_line"] <= len(lines)


def test_ask_streams_text_then_citations_and_says_the_stats_beside_it(run) -> None:
    done = run("ask", QUESTION, *SMALL, *MODELS, "--budget", "300", "--set", "maxTokens=8", "--show-spans")
    assert done.returncode == 0, done.stderr
    assert "\nKept:\n" in done.stdout
    assert done.stderr.rstrip().splitlines()[-1].startswith("workspace ")
    assert "\nworkspace " not in done.stdout


def test_the_unit_at_the_cursor_is_always_kept(run) -> None:
    place = str(REPOSITORY / "winnow_engine" / "encoder" / "template.py")
    line = next(i for i, text in enumerate(Path(place).read_text().splitlines(), 1) if "def header" in text)
    done = run("spans", "explain this", *SMALL, *MODELS[:2], "--at", f"{place}:{line}", "--budget", "300", "--json")
    spans = json.loads(done.stdout)["spans"]
    assert any(s["path"] == "template.py" and s["start_line"] <= line <= s["end_line"] for s in spans)
    assert sum(span["tokens"] for span in spans) <= 300


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("ask",), 2, "QUESTION"),
        (("ask", " "), 2, "the question is empty"),
        (("ask", "x", "--budget", "0%"), 2, "a share such as 5%"),
        (("ask", "x", "--set", "maxTokens=0"), 2, "maxTokens must be a whole number"),
        (("ask", "x", "--at", "nowhere"), 2, "FILE:LINE"),
        (("ask", "x", "--at", "segments.py:9-3"), 2, "lines 9-3 are not a range"),
        (("ask", "x", "--at", "/etc/hostname:1"), 2, "outside the workspace"),
        (("ask", "x", "--at", "segments.py:99999"), 2, "there is no line 99999"),
        (("ask", "x", "--target", "no-such-model"), 3, "no-such-model"),
        (("ask", "x", "--drafter", "/nowhere/model.gguf"), 3, "/nowhere/model.gguf"),
        (("ask", "x", "-w", "/nowhere/at/all"), 4, "/nowhere/at/all"),
        (("ask", "x", "--at", "segments.py:1-60", "--budget", "20"), 2, "does not fit the budget"),
    ],
)
def test_bad_input_gets_its_exit_code_and_one_clear_line(
    arguments: tuple[str, ...], code: int, says: str, cache: Path, monkeypatch: pytest.MonkeyPatch, capfd
) -> None:
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(cache))
    defaults = [] if "-w" in arguments or len(arguments) == 1 else [*SMALL]
    named = [option for option in MODELS[::2] if option in arguments]
    models = [
        x for option, name in zip(MODELS[::2], MODELS[1::2], strict=True) if option not in named for x in (option, name)
    ]
    assert main([*arguments, *defaults, *models]) == code
    done = capfd.readouterr()
    assert says in done.err
    assert "Traceback" not in done.err
    assert not done.out


def test_workspace_without_files_that_count_is_named(run, tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0")
    done = run("ask", "x", "-w", str(tmp_path), *MODELS)
    assert done.returncode == 4
    assert "--explain" in done.stderr


def test_question_of_a_hundred_kilobytes_is_answered_or_refused_in_words(run) -> None:
    done = run("spans", "why? " * 20_000, *SMALL, *MODELS[:2], "--json")
    assert done.returncode == 0, done.stderr
    refused = run("ask", "why? " * 20_000, *SMALL, *MODELS, "--budget", "400")
    assert refused.returncode == 2
    assert "context of 8,192 tokens" in refused.stderr


def test_model_cut_in_half_is_refused(run, smollm2: Path, tmp_path: Path) -> None:
    half = tmp_path / "half.gguf"
    with smollm2.open("rb") as whole:
        half.write_bytes(whole.read(smollm2.stat().st_size // 2))
    for option in ("--drafter", "--target"):
        done = run("ask", "x", *SMALL, *MODELS, option, str(half))
        assert done.returncode == 3, done.stderr
        assert "half.gguf" in done.stderr


def indexing(cache: Path, output: Path) -> bool:
    """Whether some files' keys are stored, and so others' are being made."""
    if not (cache / "index.sqlite").is_file():
        return False
    with sqlite3.connect(cache / "index.sqlite") as database:
        tables = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'record'").fetchall()
        return bool(tables and database.execute("SELECT 1 FROM record WHERE namespace LIKE 'keys-%'").fetchall())


def decoding(cache: Path, output: Path) -> bool:
    """Whether the answer has begun."""
    return output.stat().st_size > 0


def opening(cache: Path, output: Path) -> bool:
    """Whether the workspace is about to be read."""
    return (cache / "index.sqlite").is_file()


@pytest.mark.parametrize("reached", [opening, indexing, decoding])
def test_interrupt_at_any_stage_exits_130_and_leaves_a_usable_cache(
    tmp_path: Path, smollm2: Path, reached: Callable[[Path, Path], bool]
) -> None:
    cache, output = tmp_path / "cache", tmp_path / "output"
    arguments = (*SMALL, *MODELS, "--budget", "300")
    endless = ("--set", "maxTokens=4000")
    with output.open("wb") as stdout:
        process = subprocess.Popen(
            command("ask", QUESTION, *arguments, *endless),
            env=environment(cache),
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
        )
    while not reached(cache, output):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert output.read_text()[-1:] in ("", "\n")  # what stderr says stands on a line of its own
    again = subprocess.run(
        command("spans", QUESTION, *SMALL, *MODELS[:2], "--budget", "300", "--json"),
        env=environment(cache),
        capture_output=True,
        text=True,
    )
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["spans"]

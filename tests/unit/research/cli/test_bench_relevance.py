"""`winnow bench relevance`: its options, and its tables."""

from pathlib import Path

import pytest
from gguf import GGUFWriter
from random_models import write_all

from winnow_lsp.cli.main import main
from winnow_research.cli.bench.tables import tables
from winnow_research.evaluation.figures import BUDGETS, Outcome, figures

EVERY = (True,) * len(BUDGETS)


def outcome(method: str, task: str, tokens: int, rank: float | None = 0.5) -> Outcome:
    return Outcome(method, task, tokens, "r", "go", (False, *EVERY[1:]), (0.5,) * 5, EVERY, EVERY, rank, rank or 0.0)


@pytest.fixture
def drafter(tmp_path: Path) -> Path:
    """A GGUF without tensors: these commands end before any is read."""
    path = tmp_path / "tiny.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(8)
    write_all(writer)
    return path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tokens", "32k,many"], "'32k,many' is not a list of sizes such as 32k,128k"),
        (["--tokens", "0"], "'0' is not a list of sizes"),
        (["--task", "guess"], "'guess' is not one of"),
        (["--split", "all"], "'all' is not one of"),
        (["--method", "magic"], "no method magic; there are BM25, MiniLM, SpecPrefill, pflash"),
    ],
)
def test_wrong_options_are_usage_errors(
    arguments: list[str], message: str, drafter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "relevance", "--drafter", str(drafter), *arguments]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_table_has_a_line_for_each_method_with_intervals() -> None:
    found = figures([outcome("BM25", "describe", 32_000), outcome("Winnow", "describe", 32_000)])
    lines, columns = tables(found), ["NDCG@10", "of", "units,", "files"]
    assert lines[1] == "describe, 32,000 tokens, all: 1 question"
    assert lines[2].split() == ["500", "1,000", "2,000", "4,000", "8,000", "MRR", "first", *columns]
    assert lines[3].split() == [
        "BM25",
        "0",
        "[0–79]",
        *["100", "[21–100]"] * 4,
        "0.50",
        "[0.50–0.50]",
        "0.0",
        "0.000",
        "0.000",
    ]
    assert lines[4].startswith("Winnow")
    assert "describe, 32,000 tokens, go: 1 question" in lines

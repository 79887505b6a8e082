"""Figures of first tokens: medians, stages that add up, and peaks of memory."""

import pytest

from winnow_lsp.cli.main import main
from winnow_research.first_token.tables import lines
from winnow_research.first_token.timed import TimedAnswer, summary


def answer(seconds: float, kept: bool | None = None) -> TimedAnswer:
    return TimedAnswer("why?", seconds, {"read": seconds / 4, "prefill": 3 * seconds / 4}, 100, 0, 0, 50, kept)


def test_a_summary_has_median_range_and_golds() -> None:
    found = summary([answer(1.0, True), answer(4.0, False), answer(2.0, True)])
    assert (found["median_s"], found["range_s"], found["seconds"]) == (2.0, [1.0, 4.0], [1.0, 4.0, 2.0])
    assert found["stages_s"] == {"read": 0.5, "prefill": 1.5}
    assert found["golds_kept"] == [2, 3]
    assert "golds_kept" not in summary([answer(1.0)])
    reranked = TimedAnswer("why?", 1.0, {"read": 0.1, "rerank": 0.2, "prefill": 0.7}, 100, 0, 0, 50, None)
    assert summary([answer(1.0), reranked])["stages_s"] == {"read": 0.175, "rerank": 0.1, "prefill": 0.725}


def test_a_table_compares_with_vanilla() -> None:
    memory = {"host_bytes": 2_000_000_000, "host_anonymous_bytes": 1_000_000_000, "device_bytes": None}
    vanilla = {**summary([answer(8.0)]), "best": "ubatch 512, f16", "memory": memory}
    states = {state: summary([answer(2.0)]) for state in ("cold", "warm", "edited", "follow-up")}
    golds = {"questions": 4, "whole": 3, "lines": 0.8}
    found = {"tokens": 10, "files": 1, "questions": 4, "vanilla": vanilla}
    found["winnow"] = {"2600": {**states, "golds": golds}}
    text = "\n".join(lines(found))
    assert "8.000 s [8.000–8.000] of 1, ubatch 512, f16" in text
    assert text.count("4.0 times faster") == 4
    assert "everything needed is kept for 3 of 4 questions, 80% of golds' lines" in text
    assert "1.00 GB beside mapped files, 2.00 GB in all" in text


@pytest.mark.parametrize("size", ["16k,many", "0"])
def test_wrong_sizes_are_usage_errors(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "ttft", "--contexts", size]) == 2
    assert "is not a list of sizes such as 16k,128k" in " ".join(capsys.readouterr().err.split())
    assert main(["bench", "ttft", "--repository", "tornado"]) == 2
    assert "nobody wrote questions about 'tornado'" in " ".join(capsys.readouterr().err.split())

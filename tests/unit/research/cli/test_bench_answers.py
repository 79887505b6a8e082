"""`winnow bench answers`: its options, and its table."""

import pytest

from winnow_lsp.cli.main import main
from winnow_research.cli.bench.shared import score_table
from winnow_research.evaluation.scores import Result, scores


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["answers", "--tokens", "8k,many"], "'8k,many' is not a list of sizes"),
        (["answers", "--task", "magic"], "'magic' is not one of 'explain', 'function'"),
        (["answers", "--only", "magic", "--split", "development"], "no repository of the development split is called"),
        (["answers", "--budget", "0"], "0 is not in the range"),
    ],
)
def test_wrong_options_are_usage_errors(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *arguments]) == 2
    assert message in " ".join(capsys.readouterr().err.replace("│", "").split())


def test_a_table_has_a_line_for_each_test_and_method_and_a_column_for_each_size() -> None:
    results = [Result("vt", "kept", 8000, 1.0), Result("vt", "kept", 32000, 0.5), Result("vt", "Winnow", 8000, 0.0)]
    heading, kept, winnow = score_table(scores(results))
    assert heading.split() == ["8,000", "tokens", "32,000", "tokens"]
    assert kept.split() == ["vt,", "kept", "100", "[21–100]", "of", "1", "50", "[5–95]", "of", "1"]
    assert winnow.split() == ["vt,", "Winnow", "0", "[0–79]", "of", "1", "–"]

"""`winnow bench answers`: its options, and its table."""

import json
from pathlib import Path

import pytest

from winnow_engine.errors import WinnowError
from winnow_lsp.cli.main import main
from winnow_research.cli.bench.shared import json_lines, score_table, show
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


def test_a_model_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "missing.gguf"
    assert main(["bench", "answers", "--drafter", str(missing)]) == 3
    assert str(missing) in "".join(capsys.readouterr().err.split())


def test_what_cannot_be_written_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(WinnowError, match=r"cannot write .*: Is a directory"), json_lines(tmp_path):
        pytest.fail("it was opened")


def test_a_table_has_a_line_for_each_test_and_method_and_a_column_for_each_size() -> None:
    results = [Result("vt", "kept", 8000, 1.0), Result("vt", "kept", 32000, 0.5), Result("vt", "Winnow", 8000, 0.0)]
    heading, kept, winnow = score_table(scores(results))
    assert heading.split() == ["8,000", "tokens", "32,000", "tokens"]
    assert kept.split() == ["vt,", "kept", "100", "[21–100]", "of", "1", "50", "[5–95]", "of", "1"]
    assert winnow.split() == ["vt,", "Winnow", "0", "[0–79]", "of", "1", "–"]


def test_json_is_one_object_that_says_what_was_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    show(scores([Result("vt", "kept", 8000, 1.0)]), {"full context": "too long"}, True, split="test", seed=0)
    document = json.loads(capsys.readouterr().out)
    assert document["split"] == "test"
    assert document["absent"] == {"full context": "too long"}
    assert document["scores"][0]["row"] == "kept"

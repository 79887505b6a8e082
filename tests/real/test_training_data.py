"""`winnow train prepare` with the drafter's own vocabulary, from a project that is unpacked already."""

from pathlib import Path

import pytest

from winnow_engine.encoder.template import Template
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_research.evaluation.archives import Archive
from winnow_research.training import prepare as preparing
from winnow_research.training.heldout import SeenLines
from winnow_research.training.projects import Project

pytestmark = pytest.mark.real_weights

CODE = '''def load_accounts(path):
    """Read every account of a file of JSON lines and check its balance."""
    with open(path) as lines:
        found = [parse_account(line) for line in lines]
    return [account for account in found if account.balance >= 0]


def parse_account(line):
    fields = line.split(";")
    name, balance = fields[0], int(fields[1])
    return Account(name, balance)
'''


def test_equal_projects_give_equal_bytes_in_the_tokens_the_product_reads(
    qwen_small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparing, "held_out", lambda _: SeenLines())
    source = tmp_path / "pypi-ledger-1.0" / "ledger.py"
    source.parent.mkdir()
    source.write_text(CODE)
    project = Project("ledger", "python", "MIT", Archive("pypi", "ledger", "1.0", "0" * 64))

    first, again = (
        preparing.prepare([project], qwen_small, preparing.DataRecipe(), lambda _: None, directory=tmp_path)
        for _ in range(2)
    )
    for name, data in (("first", first), ("again", again)):
        data.save(tmp_path / name)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "again").read_bytes()

    vocabulary = Vocabulary(LlamaModel(qwen_small, vocabulary_only=True))
    asked = "Read every account of a file of JSON lines and check its balance."
    wanted = Template(vocabulary).question(asked).ids.tolist()
    questions = [first.questions[number].tolist() for number in range(len(first.questions))]
    gold = first.golds[questions.index(wanted)][0]
    assert first.bare[gold].tolist() == vocabulary.tokenize(CODE.split("\n\n\n")[0].replace(
        '    """' + asked + '"""\n', ""
    ) + "\n\n\n").tolist()  # fmt: skip

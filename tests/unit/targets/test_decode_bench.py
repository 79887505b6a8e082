"""`DecodeBench` on a target with recurrent layers, whose past states cost the drafts, and not plain decoding."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import llama_cpp
import pytest

from winnow_engine.core import Cancellation, Prompt, Sampling
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.draft_tree import DraftTree, chain
from winnow_engine.llama.model import LlamaModel
from winnow_engine.prompting.messages import Message
from winnow_engine.targets.drafts.base import NoDraft
from winnow_lsp.cli.main import main
from winnow_research.decode.bench import PLAIN, DecodeBench

from .loaded import OPTIONS

FIRST = [Message("user", "".join(map(chr, range(40, 127))))]
SECOND = [Message("user", "".join(map(chr, range(126, 39, -1))))]


class Recalling(NoDraft):
    """Drafts the previous answer, with every fifth token wrong."""

    def __init__(self) -> None:
        self._known: list[int] = []
        self._seen: list[int] = []

    def begin(self, prompt: Prompt, abort: AbortFlag) -> None:
        self._known, self._seen = self._seen, []

    def propose(self, limit: int, least: float = 0.0) -> DraftTree:
        start = len(self._seen)
        tokens = [token ^ (at % 5 == 0) for at, token in enumerate(self._known)][start : start + limit]
        return chain(tokens, [1.0] * len(tokens))

    def accept(self, tokens: Sequence[int]) -> None:
        self._seen += tokens


@pytest.fixture
def bench(tiny_qwen35: Path, exact: None) -> Iterator[DecodeBench]:
    with closing(DecodeBench(LlamaModel(tiny_qwen35), {"recalling": Recalling()}, OPTIONS)) as bench:
        yield bench


def test_only_drafts_pay_for_past_states(bench: DecodeBench) -> None:
    kept = [llama_cpp.llama_n_rs_seq(cache.context.handle) for cache in (bench._plain, bench._cache)]
    assert kept == [0, 8]


def test_drafted_answers_are_the_plain_ones_whatever_was_answered_before(bench: DecodeBench) -> None:
    for messages in (FIRST, FIRST, SECOND, SECOND):
        plain, drafted = bench.answers("load", messages, Sampling(max_tokens=40), Cancellation())
        assert (plain.draft, plain.drafted, plain.rounds) == (PLAIN, 0, 39)
        assert (plain.gap, drafted.gap, drafted.tokens) == (None, None, 40)
    assert 20 < drafted.accepted < drafted.drafted
    assert drafted.rounds == 39 - drafted.accepted


def test_a_target_that_cannot_roll_back_is_refused(tiny_mamba: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "decode", "--target", str(tiny_mamba)]) == 1
    assert "the recurrent memory of tiny-mamba.gguf cannot roll back" in capsys.readouterr().err

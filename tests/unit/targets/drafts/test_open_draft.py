"""Which draft a target gets, on tiny real models."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from winnow_engine.config import TargetOptions
from winnow_engine.core import Sampling
from winnow_engine.errors import DraftError, ModelNotFoundError
from winnow_engine.targets.base import Generation, Request
from winnow_engine.targets.local.chat_template import LocalPrompt
from winnow_engine.targets.local.target import LlamaTarget

from .block_files import write_block

PROMPT = np.arange(40, 90, dtype=np.int32)


def ask(path: Path, draft: str | Path, sampling: Sampling | None = None) -> Generation:
    options = TargetOptions(n_threads=1, n_ubatch=32, speculate=draft)
    with closing(LlamaTarget.open(path, options)) as target:
        return target.generate(Request(LocalPrompt(PROMPT), sampling or Sampling(max_tokens=60)))


@pytest.mark.parametrize("draft", ["auto", "off", "lookup"])
def test_drafts_by_name(tiny_llama: Path, draft: str) -> None:
    answer = ask(tiny_llama, draft)
    assert answer.draft == draft
    assert answer.text == ask(tiny_llama, "off").text


def test_a_model_that_is_no_draft_is_refused(tiny_llama: Path) -> None:
    with pytest.raises(DraftError, match=r"tiny-llama.gguf is no draft: `winnow train draft` makes them"):
        ask(tiny_llama, tiny_llama)


def test_a_missing_draft_is_named(tiny_llama: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="none"):
        ask(tiny_llama, tmp_path / "none.gguf")


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("draft", ["auto", "off", "lookup", "block"])
def test_a_target_that_keeps_past_states_is_drafted_for(tiny_qwen35: Path, tmp_path: Path, draft: str) -> None:
    wanted = write_block(tmp_path / "tiny-block.gguf") if draft == "block" else draft
    answer = ask(tiny_qwen35, wanted)
    assert answer.draft == (wanted.name if isinstance(wanted, Path) else draft)
    assert answer.text == ask(tiny_qwen35, "off").text


@pytest.mark.parametrize("draft", ["auto", "lookup"])
def test_a_recurrent_target_decodes_plainly_and_says_why(tiny_mamba: Path, draft: str) -> None:
    answer = ask(tiny_mamba, draft)
    assert answer.draft == "off: the target's recurrent memory cannot roll back"
    assert (answer.drafted_tokens, answer.decode_tokens) == (0, 60)
    assert answer.text == ask(tiny_mamba, "off").text

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from winnow_engine.config import TargetOptions
from winnow_engine.core import Sampling
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.targets.base import Generation, Request
from winnow_engine.targets.local.chat_template import LocalPrompt
from winnow_engine.targets.local.session import Session

from ..loaded import FlagInside

PROMPT = np.tile(np.arange(40, 240, dtype=np.int32), 2)
OPTIONS = TargetOptions(n_threads=1, n_ubatch=32)


def opened(model: Path) -> Session:
    return Session(model, OPTIONS)


def ask(session: Session, abort: AbortFlag, abort_after: int | None = None) -> Generation:
    """Answer PROMPT, setting `abort` after that many evaluated tokens."""
    request = Request(
        LocalPrompt(PROMPT),
        Sampling(max_tokens=24),
        progress=lambda report: abort.set() if report.done == abort_after else None,
    )
    return session.generate(request, abort, started=0.0)


@pytest.mark.parametrize(
    ("name", "flag", "kept"),
    [
        ("tiny_llama", AbortFlag, 64),
        ("tiny_llama", FlagInside, 64),
        ("tiny_mamba", AbortFlag, 64),
        ("tiny_mamba", FlagInside, 0),
        ("tiny_qwen35", AbortFlag, 64),
        ("tiny_qwen35", FlagInside, 0),
    ],
)
def test_cancelling_in_prefill_keeps_only_what_is_right(
    name: str, flag: type[AbortFlag], kept: int, request: pytest.FixtureRequest
) -> None:
    model: Path = request.getfixturevalue(name)
    with closing(opened(model)) as fresh, closing(opened(model)) as session:
        cancelled = ask(session, flag(), abort_after=64)
        assert (cancelled.finish, cancelled.decode_tokens, cancelled.first_token_s) == ("cancelled", 0, None)
        again = ask(session, AbortFlag())
        assert again.text == ask(fresh, AbortFlag()).text
        assert again.reused_tokens == kept


def test_a_request_cancelled_before_it_starts_evaluates_nothing(tiny_llama: Path) -> None:
    abort = AbortFlag()
    abort.set()
    with closing(opened(tiny_llama)) as session:
        assert ask(session, abort).finish == "cancelled"
        assert ask(session, AbortFlag()).reused_tokens == 0

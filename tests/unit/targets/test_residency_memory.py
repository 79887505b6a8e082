"""The memory that residency estimates, against what llama.cpp takes: a transformer, a recurrent model, a hybrid."""

import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import llama_cpp
import numpy as np
import pytest

from winnow_engine.llama.context import LlamaContext
from winnow_engine.llama.kv_cache import KvCache
from winnow_engine.llama.model import LlamaModel
from winnow_engine.models.gguf_header import read_header
from winnow_engine.targets.drafts.base import MOST_NODES
from winnow_engine.targets.residency import kv_bytes, memory_bytes, state_bytes

from .loaded import OPTIONS

_MOST_OVERHEAD = (
    24  # bytes a token of position (M-RoPE has more) and sequence in llama.cpp's format; the shapes besides
)
MODELS = ("tiny_llama", "tiny_mamba", "tiny_qwen35")


@pytest.fixture(params=MODELS)
def path(request: pytest.FixtureRequest) -> Path:
    path: Path = request.getfixturevalue(request.param)
    return path


@pytest.mark.parametrize("tokens", [1, 96])
def test_a_context_holds_the_bytes_that_are_counted(path: Path, tokens: int) -> None:
    with closing(LlamaModel(path)) as model, closing(LlamaContext(model, 512, OPTIONS)) as context:
        cache = KvCache(context)
        for part in np.split(np.arange(40, 40 + tokens, dtype=np.int32), range(32, tokens, 32)):
            assert cache.extend(part, want_logits=False)
        header = read_header(path)
        counted = kv_bytes(header, "f16", tokens) + state_bytes(header)
        assert counted <= context.state_bytes() <= counted + _MOST_OVERHEAD * (tokens + 20)


@pytest.mark.parametrize(("draft", "states"), [("off", 1), ("auto", 9)])
def test_past_states_count_where_drafting_keeps_them(
    tiny_qwen35: Path, draft: str, states: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    keep = llama_cpp.llama_log_callback(lambda _level, text, _data: lines.append(text.decode()))
    monkeypatch.setattr("winnow_engine.llama.context.silence", lambda: llama_cpp.llama_log_set(keep, None))
    options, header = replace(OPTIONS, speculate=draft), read_header(tiny_qwen35)
    with closing(LlamaModel(tiny_qwen35)) as model:
        LlamaContext(model, 512, options, 1 if draft == "off" else MOST_NODES).close()
        monkeypatch.undo()
        LlamaContext(model, 512, options).close()  # the log is kept as always again
    (taken,) = re.findall(r"RS buffer size = +([\d.]+) MiB", "".join(lines))
    counted = memory_bytes(header, options) - kv_bytes(header, "f16")
    assert counted == (states + 1) * state_bytes(header)  # with the one that is marked when it is needed
    assert f"{states * state_bytes(header) / 2**20:.2f}" == taken


def test_a_recurrent_model_that_cannot_go_back_keeps_no_past_states(tiny_mamba: Path) -> None:
    header = read_header(tiny_mamba)
    assert memory_bytes(header, OPTIONS) == 2 * state_bytes(header) > 0

"""Which weights llama.cpp should repack while it loads them.

It interleaves the rows of some types for matrix products that need AVX2 at most. Where it was built for AVX-512 with
VNNI, its tiled products of the plain rows are faster: on an EPYC of family 26, one thread, the 1.5B (Q4_K_M) reads a
prompt in 0.6 of the time. Few tokens are multiplied with plain rows by .ci/llama/few_tokens.h. Plain weights are mapped
instead of copied, too. docs/results/reading.md and decoding.md have all figures.
"""

from __future__ import annotations

from pathlib import Path

import llama_cpp
from gguf.constants import GGMLQuantizationType as Type

from winnow_engine.errors import ModelDamagedError, UnsupportedModelError
from winnow_engine.models.gguf_header import read_header

_TILES_NEED = "AVX512_VNNI = 1"
# llama.cpp repacks these and has no tiled product of them.
_ONLY_REPACKED = {Type.Q4_0, Type.IQ4_NL, Type.MXFP4}


def repacking_pays(path: Path) -> bool:
    """Whether llama.cpp computes faster with repacked weights of this GGUF, as it was built here."""
    if _TILES_NEED not in llama_cpp.llama_print_system_info().decode():
        return True
    try:
        types = {tensor.type for tensor in read_header(path).tensors.values()}
    except (ModelDamagedError, UnsupportedModelError):  # llama.cpp reads it next, and says what is wrong
        return True
    return bool(types & _ONLY_REPACKED)

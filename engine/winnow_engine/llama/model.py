"""A GGUF file loaded by llama.cpp, with named errors instead of null pointers and log lines."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Protocol

import llama_cpp
import numpy as np
from gguf.constants import MODEL_ARCH_NAMES
from gguf.constants import GGMLQuantizationType as Type
from numpy.typing import NDArray

from winnow_engine.errors import ModelDamagedError, ModelNotFoundError, UnsupportedModelError
from winnow_engine.llama.devices import cpu_memory
from winnow_engine.llama.log import last_errors, silence
from winnow_engine.models.gguf_header import read_header
from winnow_engine.platform import is_file

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


KEEPS_PAST_STATES = ("qwen35", "qwen35moe")
"""Recurrent architectures of which llama.cpp can keep past states: those that were tried here."""


class ContextWatcher(Protocol):
    """Follows what is in the memory of a model's contexts, one context at a time."""

    def opened(self, context: int, n_ctx: int) -> None:
        """An empty context for `n_ctx` tokens was made. May raise TargetError, which closes it again."""

    def held(self, start: int, rows: NDArray[np.intp], tokens: NDArray[np.int32], following: int) -> None:
        """`tokens` are held from `start` on, `rows` of the last evaluation; `following` more of the prompt come."""

    def forgot(self, length: int) -> None:
        """Memory now holds only the first `length` tokens."""

    def closing(self) -> None:
        """The context is about to be freed."""


class LlamaModel:
    """A GGUF file mapped into memory. Its `watcher`, if set, follows the contexts that are made from then on."""

    watcher: ContextWatcher | None = None

    def __init__(
        self,
        path: Path,
        *,
        n_gpu_layers: int | None = None,
        experts_in_memory: int = 0,
        vocabulary_only: bool = False,
        repack: bool | None = None,
    ) -> None:
        """Load, by default repacked where that pays. ModelNotFoundError, ModelDamagedError, UnsupportedModelError."""
        if not is_file(path):
            raise ModelNotFoundError(
                f"no model file at {path}: check the path, or get a model with `winnow models pull`"
            )
        self.path = path
        silence()
        params = llama_cpp.llama_model_default_params()
        params.load_mode = llama_cpp.LLAMA_LOAD_MODE_MMAP
        # A build without GPU support ignores a request for layers there, so "all" is right everywhere.
        params.n_gpu_layers = -1 if n_gpu_layers is None else n_gpu_layers
        params.vocab_only = vocabulary_only
        if not vocabulary_only:
            params.use_extra_bufts = repacking_pays(path) if repack is None else repack
        overrides = _expert_overrides(experts_in_memory)
        params.tensor_buft_overrides = ctypes.addressof(overrides) if experts_in_memory else None
        self.handle = llama_cpp.llama_model_load_from_file(bytes(path), params)
        if not self.handle:
            raise _load_error(path)
        self.vocabulary = llama_cpp.llama_model_get_vocab(self.handle)
        self.context_limit = int(llama_cpp.llama_model_n_ctx_train(self.handle))

    @property
    def architecture(self) -> str:
        """The architecture that the file names, or an empty string."""
        return self.metadata("general.architecture") or ""

    @property
    def width(self) -> int:
        """The number of elements of a hidden state."""
        return int(llama_cpp.llama_model_n_embd(self.handle))

    @property
    def layers(self) -> int:
        """The number of layers."""
        return int(llama_cpp.llama_model_n_layer(self.handle))

    @property
    def parameters(self) -> int:
        """The number of weights."""
        return int(llama_cpp.llama_model_n_params(self.handle))

    def metadata(self, key: str) -> str | None:
        """A value of the file's metadata as llama.cpp writes it, or None. Arrays are not available."""
        buffer = ctypes.create_string_buffer(128)
        size = llama_cpp.llama_model_meta_val_str(self.handle, key.encode(), buffer, len(buffer))
        return None if size < 0 else buffer.value.decode("utf-8", "replace")

    @property
    def chat_template(self) -> str | None:
        """The Jinja source of the model's chat template, or None."""
        return self._template(None)

    @property
    def tool_template(self) -> str | None:
        """The chat template for conversations with tools where it is another (Hermes 2 and 3, Command R), or None."""
        return self._template(b"tool_use")

    def _template(self, name: bytes | None) -> str | None:
        source = llama_cpp.llama_model_chat_template(self.handle, name)
        return None if source is None else source.decode("utf-8")

    @property
    def keeps_states(self) -> bool:
        """Whether some of its memory is a recurrent state instead of an entry per token."""
        handle = self.handle
        return bool(llama_cpp.llama_model_is_recurrent(handle) or llama_cpp.llama_model_is_hybrid(handle))

    @property
    def rolls_back(self) -> bool:
        """Whether its memory can forget the last few tokens: it has no states, or llama.cpp keeps past ones."""
        return not self.keeps_states or self.architecture in KEEPS_PAST_STATES

    def close(self) -> None:
        """Free the model; all its contexts must be closed."""
        llama_cpp.llama_model_free(self.handle)


class _Override(ctypes.Structure):
    """`llama_model_tensor_buft_override`: tensors that match a pattern, and the kind of memory for them."""

    _fields_ = (("pattern", ctypes.c_char_p), ("buft", ctypes.c_void_p))


def _expert_overrides(layers: int) -> ctypes.Array[_Override]:
    """Main memory for the experts of the first `layers` layers; the list ends with zeros."""
    pattern = rf"^blk\.({'|'.join(map(str, range(layers)))})\.ffn_.*_exps"
    return (_Override * 2)(_Override(pattern.encode(), cpu_memory()))


def _load_error(path: Path) -> ModelDamagedError | UnsupportedModelError:
    reason = last_errors()
    if "unknown model architecture" in reason:
        supported = ", ".join(sorted(MODEL_ARCH_NAMES.values()))
        return UnsupportedModelError(f"llama.cpp cannot run {path}: {reason}. It runs these architectures: {supported}")
    return ModelDamagedError(
        f"{path} is not a sound GGUF file: {reason}. Get it again, for example with `winnow models pull`"
    )

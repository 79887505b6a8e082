"""Where drafter and target live: on the GPU or on the CPU.

`decide` is the policy and works from numbers alone. `measure` finds the numbers of this machine and these models.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import llama_cpp

from winnow_cuda.device import DeviceError, availability, open_device
from winnow_engine.config import KvType, Place, TargetOptions
from winnow_engine.llama.context import PAST_STATES
from winnow_engine.llama.devices import LlamaGpu, best_gpu
from winnow_engine.llama.model import KEEPS_PAST_STATES
from winnow_engine.models.gguf_header import GgufHeader, model_bytes, read_header
from winnow_engine.models.registry import RegisteredModel
from winnow_engine.models.target_table import KnownTarget

# Left to the desktop, and to what these estimates miss.
_RESERVE_BYTES = 512 << 20
# Activations of the drafter's batches, and llama.cpp's compute buffers. Estimates.
_DRAFTER_WORK_BYTES = 1 << 30
_TARGET_WORK_BYTES = 512 << 20
# Weights of the default drafter's reranker, and what they work in.
_RERANKER_BYTES = 3_900 << 20
# Prompt and answer at the usual budget: 6,000 tokens, earlier turns, headroom (`local/session.py` steps by 4,096).
CONTEXT_TOKENS = 12_288
# Quantised blocks hold 32 values: in 32 or in 16 bytes, and a scale in two more.
BYTES_A_VALUE: dict[KvType, float] = {"f16": 2, "q8_0": 34 / 32, "q4_0": 18 / 32}


@dataclass(frozen=True, slots=True)
class MemoryNeeds:
    """What the GPU has `free` and models need, in bytes; None without one, for `why`.

    `offload`: this llama.cpp can use a GPU; `other` is one that the drafter cannot.
    """

    free: int | None
    why: str
    drafter: int  # its weights
    drafter_work: int  # what it takes in addition while it works
    target: int
    offload: bool
    other: LlamaGpu | None = None


@dataclass(frozen=True, slots=True)
class Residency:
    """Where each model lives, and the reason in words."""

    drafter: Place
    target: Place
    reason: str

    def __str__(self) -> str:
        return f"drafter {self.drafter}, target {self.target}: {self.reason}"


def decide(memory: MemoryNeeds) -> Residency:
    """The fastest arrangement that fits, the drafter first."""
    if memory.free is None:
        return _beside_the_drafter(memory)
    free, has = memory.free - _RESERVE_BYTES, f"{memory.free / 1e9:.1f} GB free"
    if memory.drafter > free:
        target: Place = "resident" if memory.offload and memory.target <= free else "cpu"
        return Residency("cpu", target, f"{has}, not enough for the drafter")
    if not memory.offload:
        return Residency("resident", "cpu", f"{has}, but this build of llama.cpp has no GPU support")
    if memory.drafter + memory.drafter_work + memory.target <= free:
        return Residency("resident", "resident", f"{has}, enough for both")
    return Residency("resident", "cpu", f"{has}, not enough beside it for the target's {memory.target / 1e9:.1f} GB")


def left_for_target(memory: MemoryNeeds) -> int:
    """What a GPU has for weights, keys and values of a target beside the drafter at work; a tenth stays free."""
    if memory.free is None:
        left = memory.other.free if memory.other else 0
    else:
        drafter = memory.drafter + memory.drafter_work
        left = memory.free - (drafter if memory.drafter <= memory.free - _RESERVE_BYTES else 0)
    return (left - _RESERVE_BYTES - _TARGET_WORK_BYTES) * 9 // 10 if memory.offload else 0


def leaves_room_for_reranker(memory: MemoryNeeds, target: Place) -> bool:
    """Whether the drafter's reranker fits beside drafter and target, with the target where it lives."""
    on_gpu = memory.target if memory.offload and target != "cpu" else 0
    needed = memory.drafter + memory.drafter_work + _RERANKER_BYTES + on_gpu
    return memory.free is not None and needed <= memory.free - _RESERVE_BYTES


def _beside_the_drafter(memory: MemoryNeeds) -> Residency:
    """The drafter, which knows CUDA only, is on the CPU. The target may have a GPU by Metal, Vulkan or ROCm."""
    if memory.other is None:
        return Residency("cpu", "cpu", memory.why)
    has = f"{memory.other.name} has {memory.other.free / 1e9:.1f} GB free"
    if memory.target <= memory.other.free - _RESERVE_BYTES:
        return Residency("cpu", "resident", f"{has}, enough for the target")
    return Residency("cpu", "cpu", f"{has}, not enough for the target's {memory.target / 1e9:.1f} GB")


def measure(drafter: Path, target: Path | None, options: TargetOptions) -> MemoryNeeds:
    """Numbers of this machine and these models. ModelNotFoundError, ModelDamagedError, UnsupportedModelError."""
    needs = 0
    if target is not None:
        memory = memory_bytes(read_header(target), options)  # ModelNotFoundError if there is no such file
        needs = model_bytes(target) + memory + _TARGET_WORK_BYTES
    return _needs(drafter.stat().st_size, needs)


def expect(drafter: RegisteredModel, target: KnownTarget) -> MemoryNeeds:
    """As `measure` for models whose files need not be here, with the target opened as it is by default."""
    return _needs(drafter.bytes, target.bytes + sum(context_bytes(target)) + _TARGET_WORK_BYTES)


def context_bytes(target: KnownTarget) -> tuple[int, int]:
    """Keys and values in f16 of a context at the usual budget, and recurrent states, past ones too."""
    return target.token_bytes * CONTEXT_TOKENS, (2 + PAST_STATES) * target.state_bytes


def _needs(drafter: int, target: int) -> MemoryNeeds:
    """Models that need so many bytes, beside what this machine has."""
    free, why = gpu_bytes()
    return MemoryNeeds(
        free=free,
        why=why,
        drafter=drafter,
        drafter_work=_DRAFTER_WORK_BYTES,
        target=target,
        offload=bool(llama_cpp.llama_supports_gpu_offload()),
        other=best_gpu() if free is None else None,
    )


def memory_bytes(header: GgufHeader, options: TargetOptions) -> int:
    """What a context at the usual budget takes: keys and values, recurrent states, past ones and those marked."""
    past = PAST_STATES if options.speculate != "off" and header.architecture in KEEPS_PAST_STATES else 0
    return kv_bytes(header, options.kv_type) + (2 + past) * state_bytes(header)


def kv_bytes(header: GgufHeader, kv_type: KvType, tokens: int = CONTEXT_TOKENS) -> int:
    """Keys and values of `tokens` tokens. Missing metadata counts as 0: a recurrent model has no keys and values."""
    heads = _metadata(header, "attention.head_count")
    width = _metadata(header, "attention.key_length") or (
        _metadata(header, "embedding_length") // heads if heads else 0
    )
    layers = header.block_count - sum(f"{layer}.attn_output.weight" not in header.tensors for layer in _states(header))
    values = 2 * layers * _metadata(header, "attention.head_count_kv", heads) * width * tokens
    return int(values * BYTES_A_VALUE[kv_type])


def state_bytes(header: GgufHeader) -> int:
    """The states of all recurrent layers behind one token: those of convolution and scan, in float32.

    Shapes as in llama.cpp's `llama_hparams::n_embd_r` and `n_embd_s`. Kinds without a convolution (RWKV) count as 0.
    """
    inner, state = _metadata(header, "ssm.inner_size"), _metadata(header, "ssm.state_size")
    channels = inner + 2 * _metadata(header, "ssm.group_count") * state
    convolution = max(0, _metadata(header, "ssm.conv_kernel") - 1) * channels
    return 4 * len(_states(header)) * (convolution + inner * state)


def _states(header: GgufHeader) -> list[str]:
    """The names of the layers that have a state. In some models these attend too."""
    layers = [f"blk.{number}" for number in range(header.block_count)]
    return [layer for layer in layers if f"{layer}.ssm_conv1d.weight" in header.tensors]


def _metadata(header: GgufHeader, name: str, default: int = 0) -> int:
    value = header.values.get(f"{header.architecture}.{name}", default)
    return value if isinstance(value, int) else default


def any_gpu_bytes() -> tuple[int | None, str]:
    """As `gpu_bytes`, or else what a GPU that only the target can use has free, with its name."""
    free, why = gpu_bytes()
    other = best_gpu() if free is None else None
    return (other.free, f"{other.name}, for the target alone") if other else (free, why)


def gpu_bytes() -> tuple[int | None, str]:
    """What the drafter's GPU has free, in bytes, and the reason; None without one."""
    found = availability()
    if not found.usable:
        return None, found.reason
    try:
        device = open_device()
        with device.lock:  # the drafter opens on a thread of its own
            device.activate()
            return device.free_memory(), found.reason
    except DeviceError as error:
        return None, str(error)

"""Every GPU kernel compiles for every architecture we name, without a device, within its registers and unspilled."""

import re

import pytest

from winnow_cuda.compiler.kernel import Kernel, compile_kernel
from winnow_cuda.ops.gpu.attention import attention
from winnow_cuda.ops.gpu.attention_hopper import attention_hopper
from winnow_cuda.ops.gpu.elementwise import embedding, rms_norm, rope, standardise
from winnow_cuda.ops.gpu.gemm import EPILOGUES, gemm
from winnow_cuda.ops.gpu.gemm_hopper import NARROW, TALL, gemm_hopper
from winnow_cuda.ops.gpu.readout import pool_runs, quantise_keys
from winnow_cuda.ops.gpu.unit_products import unit_products

REGISTERS_PER_SM = 65536
ARCHITECTURES = [(8, 6), (8, 9), (9, 0), (12, 0)]
KERNELS = [
    *(gemm(kind) for kind in EPILOGUES),
    *(attention(dim) for dim in (64, 128)),
    *(rms_norm(width) for width in (576, 896, 1024)),
    embedding(896),
    rope(64, False, True, False),
    rope(128, False, False, True),
    rope(64, True, False, False),
    standardise(896),
    quantise_keys(80),
    pool_runs(272),
    *(unit_products(columns) for columns in (256, 4608)),
]
HOPPER = [
    *(gemm_hopper(kind, tile) for kind in EPILOGUES for tile in (TALL, NARROW)),
    *(attention_hopper(dim) for dim in (64, 128)),
]


def name(value: object) -> str:
    return value.name if isinstance(value, Kernel) else f"sm_{value[0]}{value[1]}"  # type: ignore[index]


@pytest.mark.parametrize("capability", ARCHITECTURES, ids=name)
@pytest.mark.parametrize("kernel", KERNELS, ids=name)
def test_compiles(kernel: Kernel, capability: tuple[int, int]) -> None:
    within_its_registers(kernel, capability)


@pytest.mark.parametrize("kernel", HOPPER, ids=name)
def test_compiles_for_hopper(kernel: Kernel) -> None:
    within_its_registers(kernel, (9, 0))


def within_its_registers(kernel: Kernel, capability: tuple[int, int]) -> None:
    _, log = compile_kernel(kernel, capability)
    assert "wgmma.mma_async instructions are serialized" not in log
    registers = re.search(r"[Uu]sed (\d+) registers", log)
    # nvJitLink has other words for a binary that another process has just compiled and that it takes from its cache.
    fresh = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", log)
    spills = fresh or re.search(r"(\d+) stack", log)
    assert registers is not None, log
    assert spills is not None, log
    assert sum(map(int, spills.groups())) == 0
    assert int(registers[1]) <= min(255, REGISTERS_PER_SM // (kernel.threads * kernel.blocks_per_sm) // 8 * 8)

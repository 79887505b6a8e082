"""What is read off the assembler's log."""

import pytest

from winnow_cuda.compiler.kernel import resources

FRESH = """ptxas info    : Function properties for rms_norm
    8 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads
ptxas info    : Used 48 registers, used 1 barriers, 8 bytes cumulative stack size"""
CACHED = """info    : 8 bytes gmem
info    : Function properties for 'rms_norm':
info    : used 48 registers, used 0 barriers, 0 stack, 0 bytes smem, 560 bytes cmem[0], 0 bytes lmem"""


@pytest.mark.parametrize(("log", "found"), [(FRESH, (48, 48)), (CACHED, (48, 0))])
def test_registers_and_spills_are_read_from_either_log(log: str, found: tuple[int, int]) -> None:
    assert resources(log) == found

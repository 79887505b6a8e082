"""Every PTX instruction the kernels use that Numba has no name for. Fragments live in `cuda.local.array`s.

`index` arguments say where in such an array a fragment starts; after unrolling they are constants, so the arrays
become registers. Layouts of fragments: PTX ISA, "Warp-level matrix instructions" and "Asynchronous warpgroup-level
matrix instructions". `tests/kernels/lanes.py` gives each a meaning in NumPy.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import cuda, types
from numba.cuda.extending import intrinsic

_U32, _F32, _U64, _I32 = types.uint32, types.float32, types.uint64, types.int32
_LETTER = {_U32: "r", _I32: "r", _F32: "f", _U64: "l"}
_LLVM = {_U32: ir.IntType(32), _I32: ir.IntType(32), _F32: ir.FloatType(), _U64: ir.IntType(64)}


def _emit(
    builder: Any,
    template: str,
    results: Sequence[Any],
    arguments: Sequence[Any],
    values: Any,
    tied: int = 0,
    pure: bool = False,
) -> Any:
    """Inline PTX: $0… are `results`, then `arguments`, the first `tied` of them shared; `pure` may be moved."""
    letters = [f"={_LETTER[r]}" for r in results] + [str(i) for i in range(tied)]
    letters += [_LETTER[a] for a in arguments[tied:]] + ["~{memory}"] * (not pure)
    fields = [_LLVM[r] for r in results]
    returned = ir.VoidType() if not fields else fields[0] if len(fields) == 1 else ir.LiteralStructType(fields)
    signature = ir.FunctionType(returned, [_LLVM[a] for a in arguments])
    return builder.call(ir.InlineAsm(signature, template, ",".join(letters), not pure), values)


def _instruction(template: str, result: Any, *arguments: Any, pure: bool = False) -> Any:
    """An intrinsic for one instruction with at most one result; $0 is the result, if any."""

    def call(typingctx: Any, *given: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            results = [] if result is types.void else [result]
            found = _emit(builder, template, results, arguments, values, pure=pure)
            return context.get_dummy_value() if result is types.void else found

        return result(*arguments), codegen

    return _intrinsic(call, len(arguments))


def _intrinsic(call: Callable[..., Any], count: int) -> Any:
    """`call` as an intrinsic of `count` arguments, a number that Numba reads off the signature."""
    names = ["typingctx", *(f"argument_{i}" for i in range(count))]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    call.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # type: ignore[attr-defined]
    return intrinsic(call)


def _on_fragment(template: str, kind: Any, count: int, *operands: Any, tied: bool = True, pure: bool = False) -> Any:
    """An intrinsic (fragment, index, operands…) for one instruction, which sets `count` registers of the fragment.

    It reads these if they are `tied`, then the operands: each of a type, or a tuple of the types of registers in
    another fragment, which are two arguments as well.
    """
    kinds, expected = [kind] * count * tied, [None, types.intp]
    for operand in operands:
        kinds += operand if isinstance(operand, tuple) else [operand]
        expected += [None, types.intp] if isinstance(operand, tuple) else [operand]

    def call(typingctx: Any, *given: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            arguments = iter(zip(given, values, strict=True))

            def slots(size: int) -> list[Any]:
                (array_type, array), (_, index) = next(arguments), next(arguments)
                start = builder.gep(context.make_array(array_type)(context, builder, array).data, [index])
                return [builder.gep(start, [ir.IntType(64)(i)]) for i in range(size)]

            results = slots(count)
            read = [builder.load(slot) for slot in results * tied]
            for operand in operands:
                held = slots(len(operand)) if isinstance(operand, tuple) else []
                read += [builder.load(slot) for slot in held] or [next(arguments)[1]]
            found = _emit(builder, template, [kind] * count, kinds, read, count * tied, pure)
            for i, slot in enumerate(results):
                builder.store(builder.extract_value(found, i), slot)
            return context.get_dummy_value()

        return types.void(*(one or array for one, array in zip(expected, given, strict=True))), codegen

    return _intrinsic(call, len(expected))


_MATRICES = "ldmatrix.sync.aligned.m8n8.x4{}.shared.b16 {{$0,$1,$2,$3}}, [$4];"
ldmatrix_x4 = _on_fragment(_MATRICES.format(""), _U32, 4, _U32, tied=False)
"""(fragment uint32, index, shared address): four 8x8 b16 matrices, whose rows the lanes' addresses name."""
ldmatrix_x4_trans = _on_fragment(_MATRICES.format(".trans"), _U32, 4, _U32, tied=False)
"""As `ldmatrix_x4`, each matrix transposed."""
load_4 = _on_fragment("ld.global.v4.u32 {$0,$1,$2,$3}, [$4];", _U32, 4, _U64, tied=False)
"""(fragment uint32, index, global address): 16 bytes at a multiple of 16."""
load_2 = _on_fragment("ld.global.v2.u32 {$0,$1}, [$2];", _U32, 2, _U64, tied=False)
"""(fragment uint32, index, global address): 8 bytes at a multiple of 8."""

_MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0,$1,$2,$3}, {$8,$9,$10,$11}, {$12,$13}, {$0,$1,$2,$3};"
mma_half = _on_fragment(_MMA, _F32, 4, (_U32,) * 4, _U32, _U32, pure=True)
"""(acc float32, i, a, j, b0, b1): acc[i:i+4] += A[16, 16] · B[16, 8], a warp together.

a, b0 and b1 are uint32 with two float16 each.
"""

cp_async_16 = _instruction("cp.async.cg.shared.global [$0], [$1], 16, $2;", types.void, _U32, _U64, _I32)
"""(shared address, global address, bytes): copies 16 bytes when bytes is 16, writes 16 zeros when it is 0."""
cp_async_commit = _instruction("cp.async.commit_group;", types.void)

CP_ASYNC_WAIT = [_instruction(f"cp.async.wait_group {pending};", types.void) for pending in range(3)]
"""By how many of the youngest groups may still be under way."""
cp_async_wait_0, cp_async_wait_1, cp_async_wait_2 = CP_ASYNC_WAIT

pack_half = _instruction("cvt.rn.satfinite.f16x2.f32 $0, $2, $1;", _U32, _F32, _F32, pure=True)
"""(low, high) → two float16 in one register; values beyond ±65504 become ±65504."""
low_half = _instruction("{ .reg .b16 l, h; mov.b32 {l, h}, $1; cvt.f32.f16 $0, l; }", _F32, _U32, pure=True)
"""The low float16 of a register as float32."""
high_half = _instruction("{ .reg .b16 l, h; mov.b32 {l, h}, $1; cvt.f32.f16 $0, h; }", _F32, _U32, pure=True)
"""The high float16 of a register as float32."""
exp2 = _instruction("ex2.approx.ftz.f32 $0, $1;", _F32, _F32, pure=True)
"""2^x, relative error 2^-22."""
log2 = _instruction("lg2.approx.ftz.f32 $0, $1;", _F32, _F32, pure=True)
reciprocal_sqrt = _instruction("rsqrt.approx.ftz.f32 $0, $1;", _F32, _F32, pure=True)
quotient = _instruction("div.s32 $0, $1, $2;", _I32, _I32, _I32, pure=True)
"""int32 / int32, towards zero. Numba's own `//` widens to 64 bits, which the compiler turns into a call."""
nearest_int = _instruction("cvt.rni.s32.f32 $0, $1;", _I32, _F32, pure=True)
"""float32 → int32, ties to even."""
float_of = _instruction("mov.b32 $0, $1;", _F32, _U32, pure=True)
"""A float32 from its bits."""
bits_of = _instruction("mov.b32 $0, $1;", _U32, _F32, pure=True)


def _global_store(count: int) -> Any:
    registers = ",".join(f"${i + 1}" for i in range(count))
    return _instruction(f"st.global.v{count}.u32 [$0], {{{registers}}};", types.void, _U64, *[_U32] * count)


_store_4, _store_2 = _global_store(4), _global_store(2)


@intrinsic  # type: ignore[untyped-decorator]
def shared_address(typingctx: Any, array: Any) -> Any:
    """The 32-bit shared-window address of a shared array's first element."""

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(array)(context, builder, values[0]).data
        wide = builder.ptrtoint(data, ir.IntType(64))
        template = "{ .reg .u64 t; cvta.to.shared.u64 t, $1; cvt.u32.u64 $0, t; }"
        return _emit(builder, template, [_U32], [_U64], [wide], 0)

    return _U32(array), codegen


@intrinsic  # type: ignore[untyped-decorator]
def global_address(typingctx: Any, pointer: Any) -> Any:
    """A pointer argument's global address in bytes."""

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.ptrtoint(values[0], ir.IntType(64))

    return _U64(pointer), codegen


# --- sm_90a: asynchronous products of four warps, operands in shared memory through descriptors.

wgmma_fence = _instruction("wgmma.fence.sync.aligned;", types.void)
wgmma_commit = _instruction("wgmma.commit_group.sync.aligned;", types.void)
fence_async_shared = _instruction("fence.proxy.async.shared::cta;", types.void)
"""Makes this thread's writes to shared memory visible to `wgmma`; a barrier must follow."""


def _registers(first: int, count: int) -> str:
    return "{" + ",".join(f"${first + i}" for i in range(count)) + "}"


@functools.cache
def warpgroup_product(columns: int, transposed_b: bool, a_in_registers: bool) -> Any:
    """`wgmma.m64nNk16` for N = `columns`: (acc float32 [N / 2], index, a, b, accumulate).

    acc[index:] (+)= A[64, 16] · B[16, N] in float16; accumulate 0 overwrites. b is a descriptor (uint64), K-major
    unless `transposed_b`; a is a descriptor too, or with `a_in_registers` an array and an index:
    (…, a, j, b, accumulate).
    """
    count = columns // 2
    left = 4 if a_in_registers else 1
    first = 2 * count
    a = _registers(first, 4) if a_in_registers else f"${first}"
    flags = f"1, 1, {int(transposed_b)}" if a_in_registers else f"1, 1, 0, {int(transposed_b)}"
    template = (
        f"{{ .reg .pred p; setp.ne.b32 p, ${first + left + 1}, 0; "
        f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.f16.f16 "
        f"{_registers(0, count)}, {a}, ${first + left}, p, {flags}; }}"
    )
    return _on_fragment(template, _F32, count, (_U32,) * 4 if a_in_registers else _U64, _U64, _I32)


@functools.cache
def warpgroup_wait(pending: int, count: int) -> Any:
    """(acc float32 [count], index): wait until at most `pending` groups are under way; acc is final at 0."""
    return _on_fragment(f"wgmma.wait_group.sync.aligned {pending};", _F32, count)


@cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
def store_if(ok: Any, pointer: Any, index: Any, value: Any) -> None:
    """pointer[index] = value in the lanes where ok."""
    if ok:
        pointer[index] = value


@cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
def load_if(ok: Any, pointer: Any, index: Any, other: Any) -> Any:
    """pointer[index] in the lanes where ok, `other` elsewhere."""
    value = other
    if ok:
        value = pointer[index]
    return value


@cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
def store_4_if(ok: Any, address: Any, fragment: Any, index: Any) -> None:
    """fragment[index:index + 4], uint32, to a global address that is a multiple of 16, in the lanes where ok."""
    if ok:
        _store_4(address, fragment[index], fragment[index + 1], fragment[index + 2], fragment[index + 3])


@cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
def store_2_if(ok: Any, address: Any, fragment: Any, index: Any) -> None:
    """fragment[index:index + 2], uint32, to a global address that is a multiple of 8, in the lanes where ok."""
    if ok:
        _store_2(address, fragment[index], fragment[index + 1])


@cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
def warp_sum(value: Any, lanes: Any) -> Any:
    """The sum over groups of `lanes` neighbouring lanes (a power of two), in each of them."""
    step = lanes // 2
    while step > 0:
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, step)
        step //= 2
    return value

"""The threads that a context computes with, kept from one evaluation to the next.

Without them llama.cpp starts threads for every evaluation, unless it was built with OpenMP, which keeps some itself.
"""

from __future__ import annotations

import ctypes

from llama_cpp import llama_cpp as bindings

_MOST_THREADS = 512


class _Params(ctypes.Structure):
    """`struct ggml_threadpool_params` of ggml.h."""

    _fields_ = (
        ("cpumask", ctypes.c_bool * _MOST_THREADS),
        ("n_threads", ctypes.c_int),
        ("priority", ctypes.c_int),
        ("poll", ctypes.c_uint32),
        ("strict_cpu", ctypes.c_bool),
        ("paused", ctypes.c_bool),
    )


# llama-cpp-python binds none of these. The library loads those of ggml, so their functions are found through it; the
# one for the CPU may be among several, of which ggml has chosen one.
_cpu, _function_of = bindings._lib.ggml_backend_reg_by_name, bindings._lib.ggml_backend_reg_get_proc_address
_cpu.argtypes, _cpu.restype = [ctypes.c_char_p], ctypes.c_void_p
_function_of.argtypes, _function_of.restype = [ctypes.c_void_p, ctypes.c_char_p], ctypes.c_void_p
_NEW = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_Params))
_new = _NEW(_function_of(_cpu(b"CPU"), b"ggml_threadpool_new"))
_free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_function_of(_cpu(b"CPU"), b"ggml_threadpool_free"))
_attach = bindings._lib.llama_attach_threadpool
_attach.argtypes, _attach.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p], None


class ThreadPool:
    """Threads that a llama.cpp context computes with. Free it before closing them."""

    def __init__(self, n_threads: int, context: int) -> None:
        """Start `n_threads` but for one, the caller's. They sleep until there is work; none polls for it."""
        self._handle = _new(ctypes.byref(_Params(n_threads=min(n_threads, _MOST_THREADS))))
        assert self._handle, "llama.cpp made no threads"
        _attach(context, self._handle, self._handle)

    def close(self) -> None:
        """End the threads."""
        _free(self._handle)

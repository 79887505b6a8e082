"""BLAS gets its threads back, however those who want one thread come and go."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from winnow_cuda.blas_threads import OneThread


def threads() -> set[int]:
    np.dot(np.ones(1), np.ones(1))  # NumPy loads it
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_who_comes_last_gives_the_threads_back() -> None:
    one = OneThread()
    with threadpool_limits(2, "blas"):
        first, second = one.wanted(), one.wanted()
        first.__enter__()
        assert threads() == {1}
        second.__enter__()
        first.__exit__(None, None, None)
        assert threads() == {1}
        second.__exit__(None, None, None)
        assert threads() == {2}
        with one.wanted():
            assert threads() == {1}


def test_whichever_thread_comes_first_or_last() -> None:
    one = OneThread()
    with threadpool_limits(2, "blas"), ThreadPoolExecutor(1) as pool:
        wanted = pool.submit(one.wanted).result()
        pool.submit(wanted.__enter__).result()
        assert threads() == {1}
        wanted.__exit__(None, None, None)
        assert threads() == {2}
        with one.wanted():
            assert threads() == {1}
        assert threads() == {2}

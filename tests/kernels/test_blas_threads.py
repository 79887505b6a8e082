"""BLAS gets its threads back, however those who want one thread come and go."""

from threadpoolctl import threadpool_info, threadpool_limits

from winnow_cuda.blas_threads import OneThread


def threads() -> set[int]:
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

// How ggml's own threads wait for each other at a barrier: they spin for about ten microseconds, then sleep until they
// are woken, as with OpenMP. ggml's spin for ever: beside other programs that burns the time slice which the awaited
// thread needs. A patch puts this into ggml-cpu.c.
#pragma once

#ifdef __linux__
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#define WINNOW_PAUSE() _mm_pause()
#else
#define WINNOW_PAUSE() atomic_signal_fence(memory_order_seq_cst)
#endif

enum { WINNOW_SPINS = 300 };

char winnow_has_wait = 1;

static atomic_int winnow_sleepers;

// Wait until `*passed` is no longer `seen`.
static inline void winnow_wait(atomic_int * passed, int seen) {
    for (int spin = 0; spin < WINNOW_SPINS; spin++) {
        if (atomic_load_explicit(passed, memory_order_relaxed) != seen) {
            return;
        }
        WINNOW_PAUSE();
    }
    // Sequentially consistent, as what `winnow_wake` follows: either it sees a sleeper, or the sleeper sees the change.
    atomic_fetch_add(&winnow_sleepers, 1);
    while (atomic_load(passed) == seen) {
        syscall(SYS_futex, passed, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
    }
    atomic_fetch_sub(&winnow_sleepers, 1);
}

// Wake those who wait for `*passed`, which has just changed.
static inline void winnow_wake(atomic_int * passed) {
    if (atomic_load(&winnow_sleepers) > 0) {
        syscall(SYS_futex, passed, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    }
}
#endif

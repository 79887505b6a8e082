// The product of Q4_K and Q6_K weights with the activations of 1 to 16 tokens, for AVX-512 with VNNI, in place of
// llama.cpp's, which multiplies up to 7 tokens one by one, unpacking the weights for each, and more in tiles made for
// hundreds. Here weights are unpacked once for all tokens, and what comes out for one does not depend on how many there
// are.
//
//     out[token][row] = sum over blocks of  d_token * sum over sixteens of
//                           scale * dot(weights, token) - min * sum(token)
//
// A sixteen is 16 weights in a row, and `scale` and `min` are their block's d and dmin times its small integers. Q6_K
// has no min; its weights are stored with 32 added, so the dot products begin at -32 * sum(token). Integers are exact.
// libraries.cmake puts this into ggml-cpu.c. tests/unit/test_few_tokens.py has it multiply.
#pragma once

#if defined(__x86_64__) && defined(__AVX512VNNI__) && defined(__AVX512BW__) && defined(__AVX512DQ__) &&                \
    defined(__AVX512VL__) && defined(__F16C__)
#define WINNOW_FEW_TOKENS

#include "lanes.h"

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

enum {
    WINNOW_TOKENS = 16,    // at most
    WINNOW_ROWS = 64,      // of weights that share what was prepared of the tokens
    WINNOW_BLOCKS = 6,     // whose sums are added up before those of the next ones, however many tokens there are
    WINNOW_MOST = 96,      // blocks of activations that are prepared at a time: most of a core's first cache
    WINNOW_AHEAD = 8192,   // bytes of weights that are on their way from memory
};

// One block of 256 weights, unpacked: lane i of all vectors is about its i-th sixteen. The first vector of weights has
// the first four weights of each sixteen, the second one the next four, and so on.
struct winnow_weights {
    __m512i fours[4];
    __m512 scales, mins;
};

// One block of a token's activations, in the same order. `sums` are those of Q8_K: for Q4_K floats, times d, and for
// Q6_K integers, times -32.
struct winnow_activations {
    int8_t fours[4][64];
    union {
        float floats[16];
        int32_t integers[16];
    } sums;
};

WINNOW_INLINE struct winnow_weights winnow_unpack_q4_K(const block_q4_K * packed) {
    struct winnow_weights block;
    const __m512i nibble = _mm512_set1_epi8(0x0F);
    const __m512i shifts = _mm512_setr_epi32(0, 0, 4, 4, 0, 0, 4, 4, 0, 0, 4, 4, 0, 0, 4, 4);
    const __m512i from = _mm512_setr_epi32(0, 4, 0, 4, 8, 12, 8, 12, 16, 20, 16, 20, 24, 28, 24, 28);
    const __m512i first = _mm512_loadu_si512(packed->qs), second = _mm512_loadu_si512(packed->qs + 64);
#pragma GCC unroll 4
    for (int four = 0; four < 4; four++) {
        const __m512i index = _mm512_add_epi32(from, _mm512_set1_epi32(four));
        const __m512i found = _mm512_permutex2var_epi32(first, index, second);
        block.fours[four] = _mm512_and_si512(_mm512_srlv_epi32(found, shifts), nibble);
    }
    uint32_t bits[3];
    memcpy(bits, packed->scales, sizeof(bits));
    const uint32_t low = bits[2] & 0x0f0f0f0f, high = bits[2] >> 4 & 0x0f0f0f0f;
    const __m128i scales = _mm_setr_epi32(bits[0] & 0x3f3f3f3f, low | (bits[0] >> 2 & 0x30303030), 0, 0);
    const __m128i mins = _mm_setr_epi32(bits[1] & 0x3f3f3f3f, high | (bits[1] >> 2 & 0x30303030), 0, 0);
    const __m512i scale = _mm512_cvtepu8_epi32(_mm_unpacklo_epi8(scales, scales));
    const __m512i min = _mm512_cvtepu8_epi32(_mm_unpacklo_epi8(mins, mins));
    block.scales = _mm512_mul_ps(_mm512_cvtepi32_ps(scale), _mm512_set1_ps(_cvtsh_ss(packed->d)));
    block.mins = _mm512_mul_ps(_mm512_cvtepi32_ps(min), _mm512_set1_ps(_cvtsh_ss(packed->dmin)));
    return block;
}

WINNOW_INLINE struct winnow_weights winnow_unpack_q6_K(const block_q6_K * packed) {
    struct winnow_weights block;
    const __m512i nibble = _mm512_set1_epi8(0x0F), upper = _mm512_set1_epi8(0x30);
    const __m512i shifts = _mm512_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4, 0, 0, 0, 0, 4, 4, 4, 4);
    const __m512i from = _mm512_setr_epi32(0, 4, 8, 12, 0, 4, 8, 12, 16, 20, 24, 28, 16, 20, 24, 28);
    const __m512i turns = _mm512_setr_epi32(4, 4, 2, 2, 0, 0, 30, 30, 4, 4, 2, 2, 0, 0, 30, 30);
    const __m512i upper_from = _mm512_setr_epi32(0, 4, 0, 4, 0, 4, 0, 4, 8, 12, 8, 12, 8, 12, 8, 12);
    const __m512i first = _mm512_loadu_si512(packed->ql), second = _mm512_loadu_si512(packed->ql + 64);
    const __m512i highs = _mm512_loadu_si512(packed->qh);
#pragma GCC unroll 4
    for (int four = 0; four < 4; four++) {
        const __m512i more = _mm512_set1_epi32(four);
        const __m512i found = _mm512_permutex2var_epi32(first, _mm512_add_epi32(from, more), second);
        const __m512i low = _mm512_and_si512(_mm512_srlv_epi32(found, shifts), nibble);
        const __m512i high = _mm512_permutexvar_epi32(_mm512_add_epi32(upper_from, more), highs);
        block.fours[four] = _mm512_or_si512(low, _mm512_and_si512(_mm512_rolv_epi32(high, turns), upper));
    }
    const __m512i scale = _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *) packed->scales));
    block.scales = _mm512_mul_ps(_mm512_cvtepi32_ps(scale), _mm512_set1_ps(_cvtsh_ss(packed->d)));
    block.mins = _mm512_setzero_ps();
    return block;
}

// Have weights come from memory before they are needed: hardware does not look past the end of a page.
WINNOW_INLINE void winnow_fetch(const char * from, size_t bytes) {
    for (size_t at = 0; at < bytes; at += 64) {
        _mm_prefetch(from + at, _MM_HINT_T0);
    }
}

// Add one block of a row to `sums` by token, the lanes of which are to be added up. `d` is that of each token.
WINNOW_INLINE void winnow_multiply(struct winnow_weights block, bool has_mins,
                                   const struct winnow_activations * activations, const float * d, int tokens,
                                   __m512 * sums) {
#pragma GCC unroll 16
    for (int token = 0; token < tokens; token++) {
        const struct winnow_activations * of = activations + token;
        __m512i dots = has_mins ? _mm512_setzero_si512() : _mm512_load_si512(of->sums.integers);
#pragma GCC unroll 4
        for (int four = 0; four < 4; four++) {
            dots = _mm512_dpbusd_epi32(dots, block.fours[four], _mm512_load_si512(of->fours[four]));
        }
        const __m512 scales = _mm512_mul_ps(block.scales, _mm512_set1_ps(d[token]));
        sums[token] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots), scales, sums[token]);
        if (has_mins) {
            sums[token] = _mm512_fnmadd_ps(block.mins, _mm512_load_ps(of->sums.floats), sums[token]);
        }
    }
}

// Add some blocks of some rows of weights to `sums`: a vector for each row, lane by token.
#define WINNOW_PRODUCT(type, has_mins)                                                                                 \
    WINNOW_INLINE void winnow_add_##type(const char * weights, size_t stride, int rows, int blocks, int tokens,        \
                                         const struct winnow_activations * activations, const float * d,               \
                                         __m512 * sums) {                                                              \
        for (int row = 0; row < rows; row++) {                                                                         \
            const block_##type * packed = (const block_##type *) (weights + row * stride);                             \
            const size_t ahead = stride * (1 + WINNOW_AHEAD / (blocks * sizeof(*packed)));                             \
            for (int first = 0; first < blocks; first += WINNOW_BLOCKS) {                                              \
                const int end = first + WINNOW_BLOCKS < blocks ? first + WINNOW_BLOCKS : blocks;                       \
                __m512 by_token[WINNOW_TOKENS];                                                                        \
                for (int token = 0; token < WINNOW_TOKENS; token++) {                                                  \
                    by_token[token] = _mm512_setzero_ps();                                                             \
                }                                                                                                      \
                for (int at = first; at < end; at++) {                                                                 \
                    winnow_fetch((const char *) (packed + at) + ahead, sizeof(*packed));                               \
                    winnow_multiply(winnow_unpack_##type(packed + at), has_mins, activations + at * tokens,            \
                                    d + at * tokens, tokens, by_token);                                                \
                }                                                                                                      \
                sums[row] = _mm512_add_ps(sums[row], winnow_added(by_token));                                          \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void winnow_add_some_##type(const char * weights, size_t stride, int rows, int blocks, int tokens,          \
                                       const struct winnow_activations * activations, const float * d,                 \
                                       __m512 * sums) {                                                                \
        switch (tokens) {                                                                                              \
            WINNOW_CASE(type, 1) WINNOW_CASE(type, 2) WINNOW_CASE(type, 3) WINNOW_CASE(type, 4)                        \
            WINNOW_CASE(type, 5) WINNOW_CASE(type, 6) WINNOW_CASE(type, 7) WINNOW_CASE(type, 8)                        \
            WINNOW_CASE(type, 9) WINNOW_CASE(type, 10) WINNOW_CASE(type, 11) WINNOW_CASE(type, 12)                     \
            WINNOW_CASE(type, 13) WINNOW_CASE(type, 14) WINNOW_CASE(type, 15) WINNOW_CASE(type, 16)                    \
        }                                                                                                              \
    }
#define WINNOW_CASE(type, tokens)                                                                                      \
    case tokens:                                                                                                       \
        winnow_add_##type(weights, stride, rows, blocks, tokens, activations, d, sums);                                \
        break;

WINNOW_PRODUCT(q4_K, true)
WINNOW_PRODUCT(q6_K, false)

// Lay out one block of a token's activations. See winnow_activations.
static void winnow_lay_out(const block_q8_K * block, bool has_mins, struct winnow_activations * to) {
    const __m512i fours = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i part[4];
    for (int at = 0; at < 4; at++) {
        part[at] = _mm512_permutexvar_epi32(fours, _mm512_loadu_si512(block->qs + 64 * at));
    }
    const __m512i a = _mm512_shuffle_i32x4(part[0], part[1], 0x44), b = _mm512_shuffle_i32x4(part[0], part[1], 0xEE);
    const __m512i c = _mm512_shuffle_i32x4(part[2], part[3], 0x44), d = _mm512_shuffle_i32x4(part[2], part[3], 0xEE);
    _mm512_store_si512(to->fours[0], _mm512_shuffle_i32x4(a, c, 0x88));
    _mm512_store_si512(to->fours[1], _mm512_shuffle_i32x4(a, c, 0xDD));
    _mm512_store_si512(to->fours[2], _mm512_shuffle_i32x4(b, d, 0x88));
    _mm512_store_si512(to->fours[3], _mm512_shuffle_i32x4(b, d, 0xDD));
    const __m512i sums = _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *) block->bsums));
    if (has_mins) {
        _mm512_store_ps(to->sums.floats, _mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_set1_ps(block->d)));
    } else {
        _mm512_store_si512(to->sums.integers, _mm512_mullo_epi32(sums, _mm512_set1_epi32(-32)));
    }
}

typedef void winnow_product(const char *, size_t, int, int, int, const struct winnow_activations *, const float *,
                            __m512 *);

// Multiply `rows` rows of `n` weights, `stride` bytes apart, with 1 to 16 tokens: `out[token][row]`.
void winnow_multiply_rows(enum ggml_type type, int n, const char * weights, size_t stride, int rows,
                          const block_q8_K * const * columns, int tokens, float * const * out);
void winnow_multiply_rows(enum ggml_type type, int n, const char * weights, size_t stride, int rows,
                          const block_q8_K * const * columns, int tokens, float * const * out) {
    struct winnow_activations activations[WINNOW_MOST] __attribute__((aligned(64)));
    float d[WINNOW_MOST];
    __m512 sums[WINNOW_ROWS];
    const bool is_q4 = type == GGML_TYPE_Q4_K;
    const int blocks = n / QK_K, most = WINNOW_MOST / tokens / WINNOW_BLOCKS * WINNOW_BLOCKS;
    for (int done = 0; done < rows; done += WINNOW_ROWS) {
        const int now = rows - done < WINNOW_ROWS ? rows - done : WINNOW_ROWS;
        memset(sums, 0, sizeof(sums));
        for (int first = 0; first < blocks; first += most) {
            const int some = blocks - first < most ? blocks - first : most;
            for (int at = 0; at < some * tokens && (done == 0 || blocks > most); at++) {
                const block_q8_K * block = columns[at % tokens] + first + at / tokens;
                winnow_lay_out(block, is_q4, activations + at);
                d[at] = block->d;
            }
            const char * from = weights + done * stride + first * (is_q4 ? sizeof(block_q4_K) : sizeof(block_q6_K));
            const winnow_product * add = is_q4 ? winnow_add_some_q4_K : winnow_add_some_q6_K;
            add(from, stride, now, some, tokens, activations, d, sums);
        }
        for (int token = 0; token < tokens; token++) {
            for (int row = 0; row < now; row++) {
                out[token][done + row] = ((const float *) &sums[row])[token];
            }
        }
    }
}

// Whether a matrix product is one for `winnow_few_tokens`.
static inline bool winnow_takes(const struct ggml_tensor * product) {
    const struct ggml_tensor * weights = product->src[0], * activations = product->src[1];
    return (weights->type == GGML_TYPE_Q4_K || weights->type == GGML_TYPE_Q6_K) && activations->type == GGML_TYPE_F32 &&
           activations->ne[1] <= WINNOW_TOKENS && ggml_nrows(activations) == activations->ne[1] &&
           ggml_nrows(weights) == weights->ne[1];
}

// A part of a matrix product: some rows of the weights, and some tokens. `quantised` has all tokens in Q8_K.
static void winnow_few_tokens(struct ggml_tensor * product, const void * quantised, int64_t first_row, int64_t end_row,
                              int64_t first_token, int64_t end_token) {
    const struct ggml_tensor * weights = product->src[0];
    const block_q8_K * columns[WINNOW_TOKENS];
    float * out[WINNOW_TOKENS];
    for (int64_t token = first_token; token < end_token; token++) {
        columns[token - first_token] = (const block_q8_K *) quantised + token * (weights->ne[0] / QK_K);
        out[token - first_token] = (float *) ((char *) product->data + token * product->nb[1]) + first_row;
    }
    winnow_multiply_rows(weights->type, (int) weights->ne[0], (const char *) weights->data + first_row * weights->nb[1],
                         weights->nb[1], (int) (end_row - first_row), columns, (int) (end_token - first_token), out);
}
#endif

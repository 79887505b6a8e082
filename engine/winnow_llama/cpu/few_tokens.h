// The product of Q4_K and Q6_K weights with the activations of 1 to 16 tokens, in place of llama.cpp's, which
// multiplies up to 7 tokens one by one, unpacking the weights for each, and more in tiles made for hundreds. Here
// weights are unpacked once for all tokens, and what comes out for one does not depend on how many there are.
//
//     out[token][row] = sum over blocks of  d_token * sum over sixteens of
//                           scale * dot(weights, token) - min * sum(token)
//
// A sixteen is 16 weights in a row, and `scale` and `min` are their block's d and dmin times its small integers. Q6_K
// has no min; its weights are stored with 32 added, so 32 * sum(token) is taken off its dot products. Integers are
// exact. For AVX-512 with VNNI there are both types, and many_tokens.h takes more tokens. For AVX2 there is Q6_K: Q4_K is
// repacked there, see q4_k.h.
// A patch puts this into ggml-cpu.c. tests/unit/test_few_tokens.py has it multiply.
#pragma once

#include "lanes.h"

#if defined(WINNOW_VECTORS) && (!defined(__AVX512F__) || (defined(__AVX512VNNI__) && defined(__AVX512BW__)))
#define WINNOW_FEW_TOKENS

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

enum {
    WINNOW_TOKENS = 16,    // at most
    WINNOW_TOGETHER = 516, // at most, of more tokens
    WINNOW_ROWS = 64,      // of weights that share what was prepared of the tokens
    WINNOW_BLOCKS = 6,     // whose sums are added up before those of the next ones, however many tokens there are
    WINNOW_MOST = 96,      // blocks of activations that are prepared at a time: most of a core's first cache
    WINNOW_AHEAD = 8192,   // bytes of weights that are on their way from memory
};

// Have weights come from memory before they are needed: hardware does not look past the end of a page.
WINNOW_INLINE void winnow_fetch(const char * from, size_t bytes) {
    for (size_t at = 0; at < bytes; at += 64) {
        _mm_prefetch(from + at, _MM_HINT_T0);
    }
}

#ifdef __AVX512VNNI__
#define WINNOW_HAS_Q4_K
#include "few_tokens_vnni.h"
#else
#include "few_tokens_avx2.h"
#endif

// Add some blocks of some rows of weights to `sums`, by row and token.
#define WINNOW_PRODUCT(type, has_mins)                                                                                 \
    WINNOW_INLINE void winnow_add_##type(const char * weights, size_t stride, int rows, int blocks, int tokens,        \
                                         const struct winnow_activations * activations, const float * d,               \
                                         float (*sums)[WINNOW_TOKENS]) {                                               \
        for (int row = 0; row < rows; row++) {                                                                         \
            const block_##type * packed = (const block_##type *) (weights + row * stride);                             \
            const size_t ahead = stride * (1 + WINNOW_AHEAD / (blocks * sizeof(*packed)));                             \
            for (int first = 0; first < blocks; first += WINNOW_BLOCKS) {                                              \
                const int end = first + WINNOW_BLOCKS < blocks ? first + WINNOW_BLOCKS : blocks;                       \
                winnow_vector by_token[WINNOW_TOKENS];                                                                 \
                for (int token = 0; token < WINNOW_TOKENS; token++) {                                                  \
                    by_token[token] = winnow_all(0);                                                                   \
                }                                                                                                      \
                for (int at = first; at < end; at++) {                                                                 \
                    winnow_fetch((const char *) (packed + at) + ahead, sizeof(*packed));                               \
                    winnow_add_block(winnow_unpack_##type(packed + at), has_mins, activations + at * tokens,           \
                                     d + at * tokens, tokens, by_token);                                               \
                }                                                                                                      \
                for (int token = 0; token < tokens; token += WINNOW_LANES) {                                           \
                    float * to = sums[row] + token;                                                                    \
                    winnow_store(to, winnow_add(winnow_load(to), winnow_added(by_token + token)));                     \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void winnow_add_some_##type(const char * weights, size_t stride, int rows, int blocks, int tokens,          \
                                       const struct winnow_activations * activations, const float * d,                 \
                                       float (*sums)[WINNOW_TOKENS]) {                                                 \
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

#ifdef WINNOW_HAS_Q4_K
WINNOW_PRODUCT(q4_K, true)
#endif
WINNOW_PRODUCT(q6_K, false)

typedef void winnow_product(const char *, size_t, int, int, int, const struct winnow_activations *, const float *,
                            float (*)[WINNOW_TOKENS]);

// Multiply `rows` rows of `n` weights, `stride` bytes apart, with some tokens: `out[token][row]`.
typedef void winnow_product_of_rows(enum ggml_type type, int n, const char * weights, size_t stride, int rows,
                                    const block_q8_K * const * columns, int tokens, float * const * out);

// For 1 to 16 tokens.
winnow_product_of_rows winnow_multiply_rows;
void winnow_multiply_rows(enum ggml_type type, int n, const char * weights, size_t stride, int rows,
                          const block_q8_K * const * columns, int tokens, float * const * out) {
    struct winnow_activations activations[WINNOW_MOST] __attribute__((aligned(64)));
    float d[WINNOW_MOST];
    float sums[WINNOW_ROWS][WINNOW_TOKENS];
    winnow_product * add = winnow_add_some_q6_K;
    size_t bytes = sizeof(block_q6_K);
#ifdef WINNOW_HAS_Q4_K
    if (type == GGML_TYPE_Q4_K) {
        add = winnow_add_some_q4_K;
        bytes = sizeof(block_q4_K);
    }
#endif
    const int blocks = n / QK_K, most = WINNOW_MOST / tokens / WINNOW_BLOCKS * WINNOW_BLOCKS;
    for (int done = 0; done < rows; done += WINNOW_ROWS) {
        const int now = rows - done < WINNOW_ROWS ? rows - done : WINNOW_ROWS;
        memset(sums, 0, sizeof(sums));
        for (int first = 0; first < blocks; first += most) {
            const int some = blocks - first < most ? blocks - first : most;
            for (int at = 0; at < some * tokens && (done == 0 || blocks > most); at++) {
                const block_q8_K * block = columns[at % tokens] + first + at / tokens;
                winnow_lay_out(block, type == GGML_TYPE_Q4_K, activations + at);
                d[at] = block->d;
            }
            add(weights + done * stride + first * bytes, stride, now, some, tokens, activations, d, sums);
        }
        for (int token = 0; token < tokens; token++) {
            for (int row = 0; row < now; row++) {
                out[token][done + row] = sums[row][token];
            }
        }
    }
}

#ifdef WINNOW_HAS_Q4_K
#include "many_tokens.h"
#endif

// Whether a matrix product is one for `winnow_multiply_part`.
static inline bool winnow_takes(const struct ggml_tensor * product) {
    const struct ggml_tensor * weights = product->src[0], * activations = product->src[1];
#ifdef WINNOW_HAS_Q4_K
    const bool known = weights->type == GGML_TYPE_Q4_K || weights->type == GGML_TYPE_Q6_K;
#else
    const bool known = weights->type == GGML_TYPE_Q6_K && activations->ne[1] <= WINNOW_TOKENS;
#endif
    return known && activations->type == GGML_TYPE_F32 && ggml_nrows(activations) == activations->ne[1] &&
           ggml_nrows(weights) == weights->ne[1];
}

// A part of a matrix product: some rows of the weights, and some tokens. `quantised` has all tokens in Q8_K.
static void winnow_multiply_part(struct ggml_tensor * product, const void * quantised, int64_t first_row,
                                 int64_t end_row, int64_t first_token, int64_t end_token) {
    const struct ggml_tensor * weights = product->src[0];
    const char * rows = (const char *) weights->data + first_row * weights->nb[1];
    const block_q8_K * columns[WINNOW_TOGETHER];
    float * out[WINNOW_TOGETHER];
    for (int64_t first = first_token; first < end_token; first += WINNOW_TOGETHER) {
        const int tokens = (int) (end_token - first < WINNOW_TOGETHER ? end_token - first : WINNOW_TOGETHER);
        for (int token = 0; token < tokens; token++) {
            columns[token] = (const block_q8_K *) quantised + (first + token) * (weights->ne[0] / QK_K);
            out[token] = (float *) ((char *) product->data + (first + token) * product->nb[1]) + first_row;
        }
        winnow_product_of_rows * multiply = winnow_multiply_rows;
#ifdef WINNOW_HAS_Q4_K
        if (product->ne[1] > WINNOW_TOKENS) {
            multiply = winnow_multiply_many;
        }
#endif
        multiply(weights->type, (int) weights->ne[0], rows, weights->nb[1], (int) (end_row - first_row), columns, tokens,
                 out);
    }
}
#endif

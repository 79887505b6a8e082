// Attention of 1 to 16 tokens to what the cache holds, for AVX-512, in place of llama.cpp's, which goes through keys
// and values once for each head of each token, in half precision. Here up to 16 queries that share keys and values, of
// several heads and tokens, go through them together, in single precision; what comes out for a query does not depend
// on the others. Keys are taken 32 at a time, by the online softmax (FlashAttention, arXiv 2205.14135, section 3.1).
//
// libraries.cmake puts this into ops.cpp. tests/unit/test_few_tokens.py compares it with a plain attention.
#pragma once

#if defined(__x86_64__) && defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__)
#define WINNOW_FEW_QUERIES

#include "lanes.h"

#include <immintrin.h>

namespace winnow {

constexpr int TOKENS = 16;           // at most
constexpr int QUERIES = 16;          // in a tile: lanes of a vector
constexpr int KEYS = 32;             // that are taken at a time
constexpr int LANES = 16;
constexpr int LEAST_KEYS = 256;      // for a thread, where there are fewer tiles than threads

// Keys or values of one head: rows of half precision, `stride` bytes apart.
struct Rows {
    const char * from;
    size_t stride;

    __m512 vector(int64_t row, int at) const {
        return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *) (from + row * stride) + at));
    }
};

// One tile's queries, times the scale, and what was found so far: for each the largest score, the sum of the
// exponentials and the sum of values. Lanes and rows without a query are zero. `masks` has each query's row of the
// mask, or null.
template <int COLUMNS>
struct Tile {
    alignas(64) float queries[QUERIES][COLUMNS];
    alignas(64) float sums[QUERIES][COLUMNS];
    __m512 largest, total;
    const ggml_fp16_t * masks[QUERIES];
    int count;
};

enum class Mask { none, some, all };

// What the mask hides from a tile of the keys [first, first + count). Neighbouring queries mostly share a row.
template <int COLUMNS>
static Mask hidden(const Tile<COLUMNS> & tile, int64_t first, int count) {
    if (tile.masks[0] == nullptr) {
        return Mask::none;
    }
    const __mmask32 counted = count < KEYS ? (1u << count) - 1 : ~0u;
    const __m512i infinity = _mm512_set1_epi16((short) 0xFC00);
    __mmask32 differs = 0, visible = 0;
    for (int query = 0; query < tile.count; query++) {
        if (query > 0 && tile.masks[query] == tile.masks[query - 1]) {
            continue;
        }
        const __m512i mask = _mm512_maskz_loadu_epi16(counted, tile.masks[query] + first);
        differs |= _mm512_test_epi16_mask(mask, mask);
        visible |= _mm512_mask_cmpneq_epi16_mask(counted, mask, infinity);
    }
    return visible == 0 ? Mask::all : differs == 0 ? Mask::none : Mask::some;
}

// Scores of the keys [first, first + count), a vector for each, lane by query.
template <int COLUMNS, int COUNT>
static void score(const Tile<COLUMNS> & tile, const Rows & keys, int64_t first, int count, bool masked,
                  __m512 * scores) {
    constexpr int VECTORS = COLUMNS / LANES;
    for (int key = 0; key < count; key++) {
        __m512 dots[QUERIES];
        for (int query = 0; query < QUERIES; query++) {
            dots[query] = _mm512_setzero_ps();
        }
#pragma GCC unroll 4
        for (int at = 0; at < VECTORS; at++) {
            const __m512 part = keys.vector(first + key, at);
#pragma GCC unroll 16
            for (int query = 0; query < COUNT; query++) {
                dots[query] = _mm512_fmadd_ps(part, _mm512_load_ps(tile.queries[query] + LANES * at), dots[query]);
            }
        }
        scores[key] = winnow_added(dots);
    }
    if (masked) {
        for (int key = 0; key < count; key++) {
            alignas(64) float added[QUERIES] = {};
            for (int query = 0; query < tile.count; query++) {
                added[query] = _cvtsh_ss(tile.masks[query][first + key]);
            }
            scores[key] = _mm512_add_ps(scores[key], _mm512_load_ps(added));
        }
    }
}

// Turn scores into exponentials, below the largest of each query, and count them.
template <int COLUMNS>
static void exponentiate(Tile<COLUMNS> & tile, int count, __m512 * scores) {
    __m512 largest = tile.largest;
    for (int key = 0; key < count; key++) {
        largest = _mm512_max_ps(largest, scores[key]);
    }
    // A query that has seen nothing yet has no largest score.
    const __m512 least = _mm512_max_ps(largest, _mm512_set1_ps(-FLT_MAX));
    __m512 total = _mm512_setzero_ps();
    for (int key = 0; key < count; key++) {
        scores[key] = ggml_v_expf(_mm512_sub_ps(scores[key], least));
        total = _mm512_add_ps(total, scores[key]);
    }
    alignas(64) float factors[QUERIES];
    const __m512 factor = ggml_v_expf(_mm512_sub_ps(tile.largest, least));
    _mm512_store_ps(factors, factor);
    tile.total = _mm512_fmadd_ps(tile.total, factor, total);
    const __mmask16 grown = _mm512_cmp_ps_mask(largest, tile.largest, _CMP_GT_OQ);
    tile.largest = largest;
    for (int query = 0; query < tile.count; query++) {
        for (int at = 0; at < COLUMNS && (grown >> query & 1); at += LANES) {
            const __m512 before = _mm512_load_ps(tile.sums[query] + at);
            _mm512_store_ps(tile.sums[query] + at, _mm512_mul_ps(before, _mm512_set1_ps(factors[query])));
        }
    }
}

// Add the values of the keys, times their exponentials: four queries and 64 columns at a time.
template <int COLUMNS, int COUNT>
static void add_values(Tile<COLUMNS> & tile, int count, const float (*values)[COLUMNS], const __m512 * scores) {
    for (int query = 0; query < COUNT; query += 4) {
        for (int column = 0; column < COLUMNS; column += 4 * LANES) {
            __m512 sums[4][4];
#pragma GCC unroll 4
            for (int row = 0; row < 4; row++) {
#pragma GCC unroll 4
                for (int at = 0; at < 4; at++) {
                    sums[row][at] = _mm512_load_ps(tile.sums[query + row] + column + LANES * at);
                }
            }
            for (int key = 0; key < count; key++) {
                __m512 parts[4];
#pragma GCC unroll 4
                for (int at = 0; at < 4; at++) {
                    parts[at] = _mm512_load_ps(values[key] + column + LANES * at);
                }
#pragma GCC unroll 4
                for (int row = 0; row < 4; row++) {
                    const __m512 share = _mm512_set1_ps(((const float *) &scores[key])[query + row]);
#pragma GCC unroll 4
                    for (int at = 0; at < 4; at++) {
                        sums[row][at] = _mm512_fmadd_ps(parts[at], share, sums[row][at]);
                    }
                }
            }
#pragma GCC unroll 4
            for (int row = 0; row < 4; row++) {
#pragma GCC unroll 4
                for (int at = 0; at < 4; at++) {
                    _mm512_store_ps(tile.sums[query + row] + column + LANES * at, sums[row][at]);
                }
            }
        }
    }
}

// Have a tile attend to the keys [first, end). COUNT is that of its queries, rounded up.
template <int COLUMNS, int COUNT>
static void attend(Tile<COLUMNS> & tile, const Rows & keys, const Rows & values, int64_t first, int64_t end) {
    alignas(64) float wide[KEYS][COLUMNS];
    __m512 scores[KEYS];
    for (int64_t key = first; key < end; key += KEYS) {
        const int count = end - key < KEYS ? (int) (end - key) : KEYS;
        const Mask mask = hidden(tile, key, count);
        if (mask == Mask::all) {
            continue;
        }
        score<COLUMNS, COUNT>(tile, keys, key, count, mask == Mask::some, scores);
        exponentiate(tile, count, scores);
        for (int row = 0; row < count; row++) {
            for (int at = 0; at < COLUMNS / LANES; at++) {
                _mm512_store_ps(wide[row] + LANES * at, values.vector(key + row, at));
            }
        }
        add_values<COLUMNS, COUNT>(tile, count, wide, scores);
    }
}

// The whole of one attention. A tile has queries of one head of keys and values; `shares` threads take a part of the
// keys each, and put what they find into the working memory of all threads.
template <int COLUMNS>
struct Attention {
    const ggml_compute_params * params;
    ggml_tensor * out;
    const ggml_tensor * q, * k, * v, * mask;
    int64_t tokens, of_a_head, heads, tiles, shares, keys;

    Attention(const ggml_compute_params * params, ggml_tensor * out)
        : params(params), out(out), q(out->src[0]), k(out->src[1]), v(out->src[2]), mask(out->src[3]) {
        tokens = q->ne[1];
        heads = k->ne[2];
        of_a_head = q->ne[2] / heads * tokens;
        tiles = (of_a_head + QUERIES - 1) / QUERIES;
        keys = k->ne[1];
        const int64_t most = keys / LEAST_KEYS, wanted = (params->nth + heads * tiles - 1) / (heads * tiles);
        shares = wanted < most ? wanted : most > 1 ? most : 1;
    }

    void run() const {
        for (int64_t job = params->ith; job < heads * tiles * shares; job += params->nth) {
            Tile<COLUMNS> tile = begun(job / shares);
            const int64_t head = job / shares / tiles, share = job % shares;
            const Rows own_keys = {(const char *) k->data + head * k->nb[2], k->nb[1]};
            const Rows own_values = {(const char *) v->data + head * v->nb[2], v->nb[1]};
            const int64_t first = keys * share / shares / KEYS * KEYS;
            const int64_t end = share + 1 == shares ? keys : keys * (share + 1) / shares / KEYS * KEYS;
            (tile.count <= 8 ? attend<COLUMNS, 8> : attend<COLUMNS, 16>)(tile, own_keys, own_values, first, end);
            if (shares == 1) {
                finish(job, tile);
            } else {
                kept(job) = tile;
            }
        }
        if (shares > 1) {
            ggml_barrier(params->threadpool);
            for (int64_t number = params->ith; number < heads * tiles; number += params->nth) {
                finish(number, joined(number));
            }
        }
    }

    // Where the queries of a tile are in the tensors: head and token of each.
    int64_t query_head(int64_t number, int query) const {
        return number / tiles * (q->ne[2] / heads) + (number % tiles * QUERIES + query) / tokens;
    }

    int64_t token(int64_t number, int query) const { return (number % tiles * QUERIES + query) % tokens; }

    Tile<COLUMNS> begun(int64_t number) const {
        Tile<COLUMNS> tile;
        float scale;
        memcpy(&scale, out->op_params, sizeof(scale));
        memset(tile.queries, 0, sizeof(tile.queries));
        memset(tile.sums, 0, sizeof(tile.sums));
        tile.largest = _mm512_set1_ps(-INFINITY);
        tile.total = _mm512_setzero_ps();
        const int64_t left = of_a_head - number % tiles * QUERIES;
        tile.count = left < QUERIES ? (int) left : QUERIES;
        for (int query = 0; query < tile.count; query++) {
            const int64_t head = query_head(number, query), at = token(number, query);
            const float * from = (const float *) ((const char *) q->data + at * q->nb[1] + head * q->nb[2]);
            for (int column = 0; column < COLUMNS; column++) {
                tile.queries[query][column] = scale * from[column];
            }
            tile.masks[query] = mask ? (const ggml_fp16_t *) ((const char *) mask->data + at * mask->nb[1]) : nullptr;
        }
        return tile;
    }

    Tile<COLUMNS> & kept(int64_t job) const {
        const uintptr_t from = ((uintptr_t) params->wdata + 63) / 64 * 64;
        return ((Tile<COLUMNS> *) from)[job];
    }

    Tile<COLUMNS> joined(int64_t number) const {
        Tile<COLUMNS> all = kept(number * shares);
        for (int64_t share = 1; share < shares; share++) {
            const Tile<COLUMNS> & more = kept(number * shares + share);
            const __m512 largest = _mm512_max_ps(all.largest, more.largest);
            const __m512 least = _mm512_max_ps(largest, _mm512_set1_ps(-FLT_MAX));
            const __m512 left = ggml_v_expf(_mm512_sub_ps(all.largest, least));
            const __m512 right = ggml_v_expf(_mm512_sub_ps(more.largest, least));
            all.largest = largest;
            all.total = _mm512_fmadd_ps(all.total, left, _mm512_mul_ps(more.total, right));
            for (int query = 0; query < all.count; query++) {
                for (int column = 0; column < COLUMNS; column++) {
                    all.sums[query][column] = all.sums[query][column] * ((const float *) &left)[query] +
                                              more.sums[query][column] * ((const float *) &right)[query];
                }
            }
        }
        return all;
    }

    void finish(int64_t number, const Tile<COLUMNS> & tile) const {
        for (int query = 0; query < tile.count; query++) {
            const float total = ((const float *) &tile.total)[query], share = total == 0 ? 0 : 1 / total;
            const int64_t row = query_head(number, query) + token(number, query) * out->ne[1];
            float * to = (float *) ((char *) out->data + row * out->nb[1]);
            for (int column = 0; column < COLUMNS; column++) {
                to[column] = share * tile.sums[query][column];
            }
        }
    }
};

// Whether an attention is one for this; then it is computed.
static bool few_queries(const ggml_compute_params * params, ggml_tensor * out) {
    const ggml_tensor * q = out->src[0], * k = out->src[1], * v = out->src[2], * mask = out->src[3];
    float bias, cap;
    memcpy(&bias, (const float *) out->op_params + 1, sizeof(bias));
    memcpy(&cap, (const float *) out->op_params + 2, sizeof(cap));
    const bool halves = k->type == GGML_TYPE_F16 && v->type == GGML_TYPE_F16 && q->type == GGML_TYPE_F32;
    const bool shared = !mask || (mask->type == GGML_TYPE_F16 && mask->ne[2] == 1 && mask->ne[3] == 1);
    const bool same = k->ne[0] == v->ne[0] && k->ne[2] == v->ne[2] && k->ne[1] > 0;
    const bool few = q->ne[1] <= TOKENS && q->ne[3] == 1, plain = !out->src[4] && bias == 0 && cap == 0;
    if (params->use_ref || !few || !plain || !halves || !shared || !same) {
        return false;
    }
    switch (k->ne[0]) {
        case 64: Attention<64>(params, out).run(); return true;
        case 128: Attention<128>(params, out).run(); return true;
        case 256: Attention<256>(params, out).run(); return true;
        default: return false;
    }
}

}  // namespace winnow
#endif

// Attention of tokens to what the cache holds, in place of llama.cpp's, which goes through keys and values once for each
// head of a token where there are few, in half precision, and widens and turns keys one by one for 64 tokens where there
// are many. Here as many queries as a vector has lanes, of several heads and tokens that share keys and values, go
// through these together, in single precision. What comes out for one does not depend on the others. Keys are taken 32
// at a time, by the online softmax (FlashAttention, arXiv 2205.14135, section 3.1).
//
// A patch puts this into ops.cpp. tests/unit/test_few_tokens.py compares it with a plain attention.
#pragma once

#include "lanes.h"

#ifdef WINNOW_VECTORS
#define WINNOW_ATTENTION

extern "C" {
char winnow_has_attention = 1;
}

namespace winnow {

constexpr int LANES = WINNOW_LANES;
constexpr int QUERIES = LANES;       // in a tile
constexpr int KEYS = 32;             // that are taken at a time
constexpr int LEAST_KEYS = 256;      // for a thread, where there are fewer tiles than threads
constexpr int TILES = 8;             // at most, of one head, that a thread has attend in turns
constexpr int WINDOW = 512;          // to so many keys, which stay in its cache
constexpr int WIDE = LANES / 4;      // vectors of columns, for four queries at a time: what fits a core's registers

// Keys or values of one head: rows of half precision, `stride` bytes apart.
struct Rows {
    const char * from;
    size_t stride;

    winnow_vector vector(int64_t row, int at) const {
        return winnow_load_halves((const ggml_fp16_t *) (from + row * stride) + LANES * at);
    }
};

// One tile's queries, times the scale, and what was found so far: for each the largest score, the sum of the
// exponentials and the sum of values. Lanes and rows without a query are zero. `masks` has each query's row of the
// mask, or null.
template <int COLUMNS>
struct Tile {
    alignas(64) float queries[QUERIES][COLUMNS];
    alignas(64) float sums[QUERIES][COLUMNS];
    winnow_vector largest, total;
    const ggml_fp16_t * masks[QUERIES];
    int count;
};

constexpr ggml_fp16_t MINUS_INFINITY = 0xFC00;

enum class Mask { none, some, all };

// What the mask hides from a tile of the keys [first, first + count). Neighbouring queries mostly share a row.
template <int COLUMNS>
static Mask hidden(const Tile<COLUMNS> & tile, int64_t first, int count) {
    if (tile.masks[0] == nullptr) {
        return Mask::none;
    }
    unsigned differs = 0, visible = 0;
    for (int query = 0; query < tile.count; query++) {
        if (query > 0 && tile.masks[query] == tile.masks[query - 1]) {
            continue;
        }
        const ggml_fp16_t * mask = tile.masks[query] + first;
        for (int key = 0; key < count; key++) {
            differs |= mask[key];
            visible |= mask[key] != MINUS_INFINITY;
        }
    }
    return visible == 0 ? Mask::all : differs == 0 ? Mask::none : Mask::some;
}

// Scores of the keys [first, first + count), a vector for each, lane by query.
template <int COLUMNS, int COUNT>
static void score(const Tile<COLUMNS> & tile, const Rows & keys, int64_t first, int count, bool masked,
                  winnow_vector * scores) {
    constexpr int VECTORS = COLUMNS / LANES;
    for (int key = 0; key < count; key++) {
        winnow_vector dots[QUERIES];
        for (int query = 0; query < QUERIES; query++) {
            dots[query] = winnow_all(0);
        }
#pragma GCC unroll 4
        for (int at = 0; at < VECTORS; at++) {
            const winnow_vector part = keys.vector(first + key, at);
#pragma GCC unroll 16
            for (int query = 0; query < COUNT; query++) {
                dots[query] = winnow_multiply_add(part, winnow_load(tile.queries[query] + LANES * at), dots[query]);
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
            scores[key] = winnow_add(scores[key], winnow_load(added));
        }
    }
}

// Turn scores into exponentials, below the largest of each query, and count them.
template <int COLUMNS>
static void exponentiate(Tile<COLUMNS> & tile, int count, winnow_vector * scores) {
    winnow_vector largest = tile.largest;
    for (int key = 0; key < count; key++) {
        largest = winnow_larger(largest, scores[key]);
    }
    // A query that has seen nothing yet has no largest score.
    const winnow_vector least = winnow_larger(largest, winnow_all(-FLT_MAX));
    winnow_vector total = winnow_all(0);
    for (int key = 0; key < count; key++) {
        scores[key] = ggml_v_expf(winnow_subtract(scores[key], least));
        total = winnow_add(total, scores[key]);
    }
    alignas(64) float factors[QUERIES];
    const winnow_vector factor = ggml_v_expf(winnow_subtract(tile.largest, least));
    winnow_store(factors, factor);
    tile.total = winnow_multiply_add(tile.total, factor, total);
    tile.largest = largest;
    for (int query = 0; query < tile.count; query++) {
        for (int at = 0; at < COLUMNS && factors[query] != 1; at += LANES) {
            const winnow_vector before = winnow_load(tile.sums[query] + at);
            winnow_store(tile.sums[query] + at, winnow_multiply(before, winnow_all(factors[query])));
        }
    }
}

// Add the values of the keys, times their exponentials: four queries and some columns at a time.
template <int COLUMNS, int COUNT>
static void add_values(Tile<COLUMNS> & tile, int count, const float (*values)[COLUMNS], const winnow_vector * scores) {
    for (int query = 0; query < COUNT; query += 4) {
        for (int column = 0; column < COLUMNS; column += WIDE * LANES) {
            winnow_vector sums[4][WIDE];
#pragma GCC unroll 4
            for (int row = 0; row < 4; row++) {
#pragma GCC unroll 4
                for (int at = 0; at < WIDE; at++) {
                    sums[row][at] = winnow_load(tile.sums[query + row] + column + LANES * at);
                }
            }
            for (int key = 0; key < count; key++) {
                winnow_vector parts[WIDE];
#pragma GCC unroll 4
                for (int at = 0; at < WIDE; at++) {
                    parts[at] = winnow_load(values[key] + column + LANES * at);
                }
#pragma GCC unroll 4
                for (int row = 0; row < 4; row++) {
                    const winnow_vector share = winnow_all(((const float *) &scores[key])[query + row]);
#pragma GCC unroll 4
                    for (int at = 0; at < WIDE; at++) {
                        sums[row][at] = winnow_multiply_add(parts[at], share, sums[row][at]);
                    }
                }
            }
#pragma GCC unroll 4
            for (int row = 0; row < 4; row++) {
#pragma GCC unroll 4
                for (int at = 0; at < WIDE; at++) {
                    winnow_store(tile.sums[query + row] + column + LANES * at, sums[row][at]);
                }
            }
        }
    }
}

// Have a tile attend to the keys [first, end). COUNT is that of its queries, rounded up.
template <int COLUMNS, int COUNT>
static void attend(Tile<COLUMNS> & tile, const Rows & keys, const Rows & values, int64_t first, int64_t end) {
    alignas(64) float wide[KEYS][COLUMNS];
    winnow_vector scores[KEYS];
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
                winnow_store(wide[row] + LANES * at, values.vector(key + row, at));
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

    Rows rows(const ggml_tensor * of, int64_t head) const {
        return {(const char *) of->data + head * of->nb[2], of->nb[1]};
    }

    void attend_to(Tile<COLUMNS> & tile, int64_t head, int64_t first, int64_t end) const {
        const auto all = tile.count <= QUERIES / 2 ? attend<COLUMNS, QUERIES / 2> : attend<COLUMNS, QUERIES>;
        all(tile, rows(k, head), rows(v, head), first, end);
    }

    void run() const {
        if (shares > 1) {
            return run_shares();
        }
        const int64_t each = heads * tiles / (4 * params->nth), together = each < 1 ? 1 : each < TILES ? each : TILES;
        const int64_t groups = (tiles + together - 1) / together;
        for (int64_t job = params->ith; job < heads * groups; job += params->nth) {
            // Every `groups`-th tile: later tokens see more keys.
            const int64_t head = job / groups, from = job % groups, count = (tiles - from + groups - 1) / groups;
            Tile<COLUMNS> some[TILES];
            for (int64_t at = 0; at < count; at++) {
                some[at] = begun(head * tiles + from + at * groups);
            }
            for (int64_t first = 0; first < keys; first += WINDOW) {
                for (int64_t at = 0; at < count; at++) {
                    attend_to(some[at], head, first, first + WINDOW < keys ? first + WINDOW : keys);
                }
            }
            for (int64_t at = 0; at < count; at++) {
                finish(head * tiles + from + at * groups, some[at]);
            }
        }
    }

    void run_shares() const {
        for (int64_t job = params->ith; job < heads * tiles * shares; job += params->nth) {
            Tile<COLUMNS> tile = begun(job / shares);
            const int64_t head = job / shares / tiles, share = job % shares;
            const int64_t first = keys * share / shares / KEYS * KEYS;
            const int64_t end = share + 1 == shares ? keys : keys * (share + 1) / shares / KEYS * KEYS;
            attend_to(tile, head, first, end);
            kept(job) = tile;
        }
        ggml_barrier(params->threadpool);
        for (int64_t number = params->ith; number < heads * tiles; number += params->nth) {
            finish(number, joined(number));
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
        tile.largest = winnow_all(-INFINITY);
        tile.total = winnow_all(0);
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
            const winnow_vector largest = winnow_larger(all.largest, more.largest);
            const winnow_vector least = winnow_larger(largest, winnow_all(-FLT_MAX));
            const winnow_vector left = ggml_v_expf(winnow_subtract(all.largest, least));
            const winnow_vector right = ggml_v_expf(winnow_subtract(more.largest, least));
            all.largest = largest;
            all.total = winnow_multiply_add(all.total, left, winnow_multiply(more.total, right));
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
static bool attend_together(const ggml_compute_params * params, ggml_tensor * out) {
    const ggml_tensor * q = out->src[0], * k = out->src[1], * v = out->src[2], * mask = out->src[3];
    float bias, cap;
    memcpy(&bias, (const float *) out->op_params + 1, sizeof(bias));
    memcpy(&cap, (const float *) out->op_params + 2, sizeof(cap));
    const bool halves = k->type == GGML_TYPE_F16 && v->type == GGML_TYPE_F16 && q->type == GGML_TYPE_F32;
    const bool shared = !mask || (mask->type == GGML_TYPE_F16 && mask->ne[2] == 1 && mask->ne[3] == 1);
    const bool same = k->ne[0] == v->ne[0] && k->ne[2] == v->ne[2] && k->ne[1] > 0;
    const bool plain = q->ne[3] == 1 && !out->src[4] && bias == 0 && cap == 0;
    if (params->use_ref || !plain || !halves || !shared || !same) {
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

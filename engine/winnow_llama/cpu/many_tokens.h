// The product of Q4_K and Q6_K weights with the activations of more than 16 tokens, for AVX-512 with VNNI, in place of
// llama.cpp's tiles: weights are laid out once for 516 tokens, activations are read where they were quantised, and sums
// lie as the result does, so neither is turned around. Integers are exact, and what comes out for a token does not
// depend on how many there are.
//
//     out[token][row] = sum over blocks of  d_token * (d * sum over parts of scale * dot(weights, token) -
//                                                      dmin * sum over sixteens of min * sum(token))
//
// A part is 32 weights of Q4_K, 16 of Q6_K. Those of Q6_K are stored with 32 added: 32 times a scale is its min.
#pragma once

enum {
    WINNOW_WIDE = 16,      // rows of weights in a vector
    WINNOW_SIDES = 2,      // vectors that are multiplied with the same activations,
    WINNOW_TILE = 6,       // of so many tokens: 24 sums stay in registers. WINNOW_TOGETHER is a multiple of it
};

// One block of 256 weights of 16 rows: lane i of all vectors is about the i-th row.
struct winnow_columns {
    __m512i fours[64];         // four weights each
    float scales[16][16];      // of 8 or 16 parts
    int32_t mins[8][16];       // of two parts each, 16 bits
    float dmin[16];
};

// Turn 16 vectors: of one for each row into one for each column of 32 bits.
WINNOW_INLINE void winnow_turn(__m512i * v) {
    __m512i twos[16], fours[16];
    for (int at = 0; at < 16; at += 2) {
        twos[at] = _mm512_unpacklo_epi32(v[at], v[at + 1]);
        twos[at + 1] = _mm512_unpackhi_epi32(v[at], v[at + 1]);
    }
    for (int at = 0; at < 16; at += 4) {
        for (int half = 0; half < 2; half++) {
            fours[at + 2 * half] = _mm512_unpacklo_epi64(twos[at + half], twos[at + 2 + half]);
            fours[at + 2 * half + 1] = _mm512_unpackhi_epi64(twos[at + half], twos[at + 2 + half]);
        }
    }
    for (int at = 0; at < 4; at++) {
        for (int odd = 0; odd < 2; odd++) {
            const __m512i * of = fours + at;
            const __m512i low = odd ? _mm512_shuffle_i32x4(of[0], of[4], 0xDD) : _mm512_shuffle_i32x4(of[0], of[4], 0x88);
            const __m512i high =
                odd ? _mm512_shuffle_i32x4(of[8], of[12], 0xDD) : _mm512_shuffle_i32x4(of[8], of[12], 0x88);
            v[at + 4 * odd] = _mm512_shuffle_i32x4(low, high, 0x88);
            v[at + 4 * odd + 8] = _mm512_shuffle_i32x4(low, high, 0xDD);
        }
    }
}

static void winnow_lay_out_q4_K(const char * rows, size_t stride, int last, struct winnow_columns * to) {
    const __m512i nibble = _mm512_set1_epi8(0x0F);
    __m512i packed[32];
    for (int row = 0; row < WINNOW_WIDE; row++) {
        const block_q4_K * block = (const block_q4_K *) (rows + (row < last ? row : last) * stride);
        winnow_fetch((const char *) (block + 1), sizeof(*block));
        packed[row] = _mm512_loadu_si512(block->qs);
        packed[16 + row] = _mm512_loadu_si512(block->qs + 64);
        uint32_t scales[2], mins[2];
        winnow_small_q4_K(block, scales, mins);
        const float d = _cvtsh_ss(block->d);
        for (int part = 0; part < 8; part++) {
            to->scales[part][row] = d * ((const uint8_t *) scales)[part];
            ((int16_t *) &to->mins[part / 2][row])[part % 2] = ((const uint8_t *) mins)[part];
        }
        to->dmin[row] = _cvtsh_ss(block->dmin);
    }
    for (int half = 0; half < 2; half++) {
        winnow_turn(packed + 16 * half);
        for (int at = 0; at < 16; at++) {
            __m512i * first = to->fours + 32 * half + 16 * (at / 8) + at % 8;
            first[0] = _mm512_and_si512(packed[16 * half + at], nibble);
            first[8] = _mm512_and_si512(_mm512_srli_epi16(packed[16 * half + at], 4), nibble);
        }
    }
}

static void winnow_lay_out_q6_K(const char * rows, size_t stride, int last, struct winnow_columns * to) {
    const __m512i nibble = _mm512_set1_epi8(0x0F), upper = _mm512_set1_epi8(0x30);
    __m512i low[32], high[16];
    for (int row = 0; row < WINNOW_WIDE; row++) {
        const block_q6_K * block = (const block_q6_K *) (rows + (row < last ? row : last) * stride);
        winnow_fetch((const char *) (block + 1), sizeof(*block));
        low[row] = _mm512_loadu_si512(block->ql);
        low[16 + row] = _mm512_loadu_si512(block->ql + 64);
        high[row] = _mm512_loadu_si512(block->qh);
        const float d = to->dmin[row] = _cvtsh_ss(block->d);
        for (int part = 0; part < 16; part++) {
            to->scales[part][row] = d * block->scales[part];
            ((int16_t *) &to->mins[part / 2][row])[part % 2] = (int16_t) (32 * block->scales[part]);
        }
    }
    winnow_turn(low);
    winnow_turn(low + 16);
    winnow_turn(high);
    for (int at = 0; at < 16; at++) {
        const __m512i two = high[at], a = low[16 * (at / 8) + at % 8], b = low[16 * (at / 8) + 8 + at % 8];
        __m512i * first = to->fours + 32 * (at / 8) + at % 8;
        first[0] = _mm512_or_si512(_mm512_and_si512(a, nibble), _mm512_and_si512(_mm512_slli_epi16(two, 4), upper));
        first[8] = _mm512_or_si512(_mm512_and_si512(b, nibble), _mm512_and_si512(_mm512_slli_epi16(two, 2), upper));
        first[16] = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi16(a, 4), nibble), _mm512_and_si512(two, upper));
        first[24] = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi16(b, 4), nibble),
                                    _mm512_and_si512(_mm512_srli_epi16(two, 2), upper));
    }
}

WINNOW_INLINE __m512i winnow_everywhere(const void * four) {
    int32_t all;
    memcpy(&all, four, sizeof(all));
    return _mm512_set1_epi32(all);
}

// Add one block of 32 rows times WINNOW_TILE tokens to `sums`, by token and row.
WINNOW_INLINE void winnow_add_tile(const struct winnow_columns * sides, int parts, const block_q8_K * const * tokens,
                                   float (*sums)[WINNOW_SIDES * WINNOW_WIDE]) {
    __m512 scaled[WINNOW_SIDES][WINNOW_TILE];
    __m512i less[WINNOW_SIDES][WINNOW_TILE];
    int16_t added[WINNOW_TILE][16];  // activations of each part
    for (int token = 0; token < WINNOW_TILE; token++) {
        scaled[0][token] = scaled[1][token] = _mm512_setzero_ps();
        less[0][token] = less[1][token] = _mm512_setzero_si512();
        const __m128i first = _mm_loadu_si128((const __m128i *) tokens[token]->bsums);
        const __m128i second = _mm_loadu_si128((const __m128i *) (tokens[token]->bsums + 8));
        if (parts == 8) {
            _mm_storeu_si128((__m128i *) added[token], _mm_hadd_epi16(first, second));
        } else {
            memcpy(added[token], tokens[token]->bsums, sizeof(added[token]));
        }
    }
#pragma GCC unroll 1
    for (int part = 0; part < parts; part++) {
        __m512i dots[WINNOW_SIDES][WINNOW_TILE];
#pragma GCC unroll 6
        for (int token = 0; token < WINNOW_TILE; token++) {
            dots[0][token] = dots[1][token] = _mm512_setzero_si512();
        }
#pragma GCC unroll 8
        for (int in = 0; in < 64 / parts; in++) {
            const int four = 64 / parts * part + in;
            const __m512i left = sides[0].fours[four], right = sides[1].fours[four];
#pragma GCC unroll 6
            for (int token = 0; token < WINNOW_TILE; token++) {
                const __m512i all = winnow_everywhere(tokens[token]->qs + 4 * four);
                dots[0][token] = _mm512_dpbusd_epi32(dots[0][token], left, all);
                dots[1][token] = _mm512_dpbusd_epi32(dots[1][token], right, all);
            }
        }
#pragma GCC unroll 2
        for (int side = 0; side < WINNOW_SIDES; side++) {
            const __m512 scale = _mm512_load_ps(sides[side].scales[part]);
#pragma GCC unroll 6
            for (int token = 0; token < WINNOW_TILE; token++) {
                scaled[side][token] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[side][token]), scale, scaled[side][token]);
            }
        }
    }
#pragma GCC unroll 8
    for (int pair = 0; pair < parts / 2; pair++) {
        const __m512i left = _mm512_load_si512(sides[0].mins[pair]), right = _mm512_load_si512(sides[1].mins[pair]);
#pragma GCC unroll 6
        for (int token = 0; token < WINNOW_TILE; token++) {
            const __m512i both = winnow_everywhere(added[token] + 2 * pair);
            less[0][token] = _mm512_dpwssd_epi32(less[0][token], left, both);
            less[1][token] = _mm512_dpwssd_epi32(less[1][token], right, both);
        }
    }
#pragma GCC unroll 2
    for (int side = 0; side < WINNOW_SIDES; side++) {
        const __m512 dmin = _mm512_load_ps(sides[side].dmin);
#pragma GCC unroll 6
        for (int token = 0; token < WINNOW_TILE; token++) {
            const __m512 both = _mm512_fnmadd_ps(dmin, _mm512_cvtepi32_ps(less[side][token]), scaled[side][token]);
            float * to = sums[token] + WINNOW_WIDE * side;
            _mm512_store_ps(to, _mm512_fmadd_ps(_mm512_set1_ps(tokens[token]->d), both, _mm512_load_ps(to)));
        }
    }
}

// For at most WINNOW_TOGETHER tokens.
winnow_product_of_rows winnow_multiply_many;
void winnow_multiply_many(enum ggml_type type, int n, const char * weights, size_t stride, int rows,
                          const block_q8_K * const * columns, int tokens, float * const * out) {
    const bool four_bits = type == GGML_TYPE_Q4_K;
    const size_t bytes = four_bits ? sizeof(block_q4_K) : sizeof(block_q6_K);
    struct winnow_columns sides[WINNOW_SIDES] __attribute__((aligned(64)));
    float sums[WINNOW_TOGETHER][WINNOW_SIDES * WINNOW_WIDE] __attribute__((aligned(64)));
    for (int row = 0; row < rows; row += WINNOW_SIDES * WINNOW_WIDE) {
        memset(sums, 0, sizeof(sums));
        for (int at = 0; at < n / QK_K; at++) {
            for (int side = 0; side < WINNOW_SIDES; side++) {
                const int first = row + WINNOW_WIDE * side < rows ? row + WINNOW_WIDE * side : rows - 1;
                const char * from = weights + first * stride + at * bytes;
                (four_bits ? winnow_lay_out_q4_K : winnow_lay_out_q6_K)(from, stride, rows - 1 - first, sides + side);
            }
            for (int token = 0; token < tokens; token += WINNOW_TILE) {
                const block_q8_K * tile[WINNOW_TILE];  // where tokens end, the last of them again
                for (int in = 0; in < WINNOW_TILE; in++) {
                    tile[in] = columns[token + in < tokens ? token + in : tokens - 1] + at;
                }
                if (four_bits) {
                    winnow_add_tile(sides, 8, tile, sums + token);
                } else {
                    winnow_add_tile(sides, 16, tile, sums + token);
                }
            }
        }
        const int left = rows - row;
        for (int token = 0; token < tokens; token++) {
            for (int side = 0; side < WINNOW_SIDES; side++) {
                const int past = left - WINNOW_WIDE * side;
                const __mmask16 there = (__mmask16) (past >= WINNOW_WIDE ? 0xFFFF : past > 0 ? (1 << past) - 1 : 0);
                float * to = out[token] + row + WINNOW_WIDE * side;
                _mm512_mask_storeu_ps(to, there, _mm512_load_ps(sums[token] + WINNOW_WIDE * side));
            }
        }
    }
}

// Quantise `n` activations, as ggml's quantize_row_q8_K does.
static void winnow_quantise(const float * from, void * to, int64_t n) {
    for (block_q8_K * block = (block_q8_K *) to; n > 0; block++, from += QK_K, n -= QK_K) {
        __m512 least = _mm512_setzero_ps(), most = least;
        for (int at = 0; at < QK_K; at += 16) {  // in this order NaN is passed over
            least = _mm512_min_ps(_mm512_loadu_ps(from + at), least);
            most = _mm512_max_ps(_mm512_loadu_ps(from + at), most);
        }
        const float low = _mm512_reduce_min_ps(least), high = _mm512_reduce_max_ps(most);
        const float furthest = -low > high ? low : high;
        const float scale = furthest == 0 ? 0 : -127.0f / furthest;
        block->d = furthest == 0 ? 0 : 1 / scale;
        for (int sixteen = 0; sixteen < QK_K / 16; sixteen++) {
            const __m512 scaled = _mm512_mul_ps(_mm512_loadu_ps(from + 16 * sixteen), _mm512_set1_ps(scale));
            const __m512i rounded = _mm512_cvtps_epi32(scaled);
            _mm_storeu_si128((__m128i *) (block->qs + 16 * sixteen), _mm512_cvtsepi32_epi8(rounded));
            block->bsums[sixteen] = (int16_t) _mm512_reduce_add_epi32(rounded);
        }
    }
}

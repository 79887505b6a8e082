// The arithmetic of few_tokens.h for AVX-512 with VNNI. A block's weights lie so that each lane of a vector belongs to
// one sixteen; then four instructions are all the products of a block and a token.
#pragma once

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

// The scales and mins of a block's eight parts, a byte each.
WINNOW_INLINE void winnow_small_q4_K(const block_q4_K * packed, uint32_t * scales, uint32_t * mins) {
    uint32_t bits[3];
    memcpy(bits, packed->scales, sizeof(bits));
    scales[0] = bits[0] & 0x3f3f3f3f;
    mins[0] = bits[1] & 0x3f3f3f3f;
    scales[1] = (bits[2] & 0x0f0f0f0f) | (bits[0] >> 2 & 0x30303030);
    mins[1] = (bits[2] >> 4 & 0x0f0f0f0f) | (bits[1] >> 2 & 0x30303030);
}

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
    uint32_t small_scales[2], small_mins[2];
    winnow_small_q4_K(packed, small_scales, small_mins);
    const __m128i scales = _mm_setr_epi32(small_scales[0], small_scales[1], 0, 0);
    const __m128i mins = _mm_setr_epi32(small_mins[0], small_mins[1], 0, 0);
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

// Add one block of a row to `sums` by token, the lanes of which are to be added up. `d` is that of each token.
WINNOW_INLINE void winnow_add_block(struct winnow_weights block, bool has_mins,
                                    const struct winnow_activations * activations, const float * d, int tokens,
                                    winnow_vector * sums) {
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

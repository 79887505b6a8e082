// The arithmetic of few_tokens.h for AVX2: products of pairs of weights in 16 bits, in the order in which they stand.
#pragma once

// One block of 256 weights, unpacked: 32 in each of eight parts, with the scale of each pair, and all 16 scales.
struct winnow_weights {
    __m256i parts[8], scales[8], of_sixteens;
    float d;
};

// One block of a token's activations, and their sums, as in Q8_K.
struct winnow_activations {
    int8_t parts[8][32];
    int16_t sums[16];
};

WINNOW_INLINE struct winnow_weights winnow_unpack_q6_K(const block_q6_K * packed) {
    struct winnow_weights block;
    const __m256i nibble = _mm256_set1_epi8(0x0F), upper = _mm256_set1_epi8(0x30);
#pragma GCC unroll 2
    for (int half = 0; half < 2; half++) {
        const __m256i first = _mm256_loadu_si256((const __m256i *) (packed->ql + 64 * half));
        const __m256i second = _mm256_loadu_si256((const __m256i *) (packed->ql + 64 * half + 32));
        const __m256i high = _mm256_loadu_si256((const __m256i *) (packed->qh + 32 * half));
        const __m256i low[4] = {first, second, _mm256_srli_epi16(first, 4), _mm256_srli_epi16(second, 4)};
        const __m256i bits[4] = {_mm256_slli_epi16(high, 4), _mm256_slli_epi16(high, 2), high,
                                 _mm256_srli_epi16(high, 2)};
#pragma GCC unroll 4
        for (int part = 0; part < 4; part++) {
            block.parts[4 * half + part] =
                _mm256_or_si256(_mm256_and_si256(low[part], nibble), _mm256_and_si256(bits[part], upper));
        }
    }
    const __m128i scales = _mm_loadu_si128((const __m128i *) packed->scales);
    const __m128i halves = _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
#pragma GCC unroll 8
    for (int part = 0; part < 8; part++) {
        const __m128i index = _mm_add_epi8(halves, _mm_set1_epi8((char) (2 * part)));
        block.scales[part] = _mm256_cvtepi8_epi16(_mm_shuffle_epi8(scales, index));
    }
    block.of_sixteens = _mm256_cvtepi8_epi16(scales);
    block.d = _cvtsh_ss(packed->d);
    return block;
}

// Lay out one block of a token's activations. See winnow_activations.
static void winnow_lay_out(const block_q8_K * block, bool has_mins, struct winnow_activations * to) {
    (void) has_mins;
    memcpy(to->parts, block->qs, sizeof(to->parts));
    memcpy(to->sums, block->bsums, sizeof(to->sums));
}

// Add one block of a row to `sums` by token, the lanes of which are to be added up. `d` is that of each token.
WINNOW_INLINE void winnow_add_block(struct winnow_weights block, bool has_mins,
                                    const struct winnow_activations * activations, const float * d, int tokens,
                                    winnow_vector * sums) {
    (void) has_mins;
#pragma GCC unroll 16
    for (int token = 0; token < tokens; token++) {
        const struct winnow_activations * of = activations + token;
        const __m256i added = _mm256_madd_epi16(_mm256_loadu_si256((const __m256i *) of->sums), block.of_sixteens);
        __m256i sum = _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32(added, 5));
#pragma GCC unroll 8
        for (int part = 0; part < 8; part++) {
            // At most 2 * 63 * 128, which fits 16 bits.
            const __m256i activation = _mm256_loadu_si256((const __m256i *) of->parts[part]);
            const __m256i pairs = _mm256_maddubs_epi16(block.parts[part], activation);
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, block.scales[part]));
        }
        sums[token] = winnow_multiply_add(_mm256_cvtepi32_ps(sum), winnow_all(block.d * d[token]), sums[token]);
    }
}

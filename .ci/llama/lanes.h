// What few_tokens.h and few_queries.h share.
#pragma once

#include <immintrin.h>

#define WINNOW_INLINE static inline __attribute__((always_inline))

// The sums of the lanes of 16 vectors.
WINNOW_INLINE __m512 winnow_added(const __m512 * vectors) {
    __m512 fours[4];
    for (int four = 0; four < 4; four++) {
        const __m512 * of = vectors + 4 * four;
        const __m512 left = _mm512_add_ps(_mm512_unpacklo_ps(of[0], of[1]), _mm512_unpackhi_ps(of[0], of[1]));
        const __m512 right = _mm512_add_ps(_mm512_unpacklo_ps(of[2], of[3]), _mm512_unpackhi_ps(of[2], of[3]));
        fours[four] = _mm512_add_ps(_mm512_shuffle_ps(left, right, 0x44), _mm512_shuffle_ps(left, right, 0xEE));
    }
    __m512 eights[2];
    for (int eight = 0; eight < 2; eight++) {
        const __m512 * of = fours + 2 * eight;
        eights[eight] =
            _mm512_add_ps(_mm512_shuffle_f32x4(of[0], of[1], 0x44), _mm512_shuffle_f32x4(of[0], of[1], 0xEE));
    }
    const __m512 left = eights[0], right = eights[1];
    return _mm512_add_ps(_mm512_shuffle_f32x4(left, right, 0x88), _mm512_shuffle_f32x4(left, right, 0xDD));
}

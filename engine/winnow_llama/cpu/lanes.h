// Vectors of floats, of AVX-512 or of AVX2: what few_tokens.h and attention.h compute with.
#pragma once

#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define WINNOW_VECTORS

#include <immintrin.h>

#define WINNOW_INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__) && defined(__AVX512DQ__)
enum { WINNOW_LANES = 16 };
typedef __m512 winnow_vector;

WINNOW_INLINE winnow_vector winnow_load(const float * from) { return _mm512_loadu_ps(from); }
WINNOW_INLINE winnow_vector winnow_load_halves(const void * from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *) from));
}
WINNOW_INLINE void winnow_store(float * to, winnow_vector x) { _mm512_storeu_ps(to, x); }
WINNOW_INLINE winnow_vector winnow_all(float x) { return _mm512_set1_ps(x); }
WINNOW_INLINE winnow_vector winnow_add(winnow_vector x, winnow_vector y) { return _mm512_add_ps(x, y); }
WINNOW_INLINE winnow_vector winnow_subtract(winnow_vector x, winnow_vector y) { return _mm512_sub_ps(x, y); }
WINNOW_INLINE winnow_vector winnow_multiply(winnow_vector x, winnow_vector y) { return _mm512_mul_ps(x, y); }
WINNOW_INLINE winnow_vector winnow_multiply_add(winnow_vector x, winnow_vector y, winnow_vector z) {
    return _mm512_fmadd_ps(x, y, z);
}
WINNOW_INLINE winnow_vector winnow_larger(winnow_vector x, winnow_vector y) { return _mm512_max_ps(x, y); }

// The sums of the lanes of as many vectors as a vector has lanes.
WINNOW_INLINE winnow_vector winnow_added(const winnow_vector * vectors) {
    __m512 fours[4], eights[2];
    for (int four = 0; four < 4; four++) {
        const __m512 * of = vectors + 4 * four;
        const __m512 left = _mm512_add_ps(_mm512_unpacklo_ps(of[0], of[1]), _mm512_unpackhi_ps(of[0], of[1]));
        const __m512 right = _mm512_add_ps(_mm512_unpacklo_ps(of[2], of[3]), _mm512_unpackhi_ps(of[2], of[3]));
        fours[four] = _mm512_add_ps(_mm512_shuffle_ps(left, right, 0x44), _mm512_shuffle_ps(left, right, 0xEE));
    }
    for (int eight = 0; eight < 2; eight++) {
        const __m512 left = fours[2 * eight], right = fours[2 * eight + 1];
        eights[eight] = _mm512_add_ps(_mm512_shuffle_f32x4(left, right, 0x44), _mm512_shuffle_f32x4(left, right, 0xEE));
    }
    const __m512 left = eights[0], right = eights[1];
    return _mm512_add_ps(_mm512_shuffle_f32x4(left, right, 0x88), _mm512_shuffle_f32x4(left, right, 0xDD));
}
#else
enum { WINNOW_LANES = 8 };
typedef __m256 winnow_vector;

WINNOW_INLINE winnow_vector winnow_load(const float * from) { return _mm256_loadu_ps(from); }
WINNOW_INLINE winnow_vector winnow_load_halves(const void * from) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *) from));
}
WINNOW_INLINE void winnow_store(float * to, winnow_vector x) { _mm256_storeu_ps(to, x); }
WINNOW_INLINE winnow_vector winnow_all(float x) { return _mm256_set1_ps(x); }
WINNOW_INLINE winnow_vector winnow_add(winnow_vector x, winnow_vector y) { return _mm256_add_ps(x, y); }
WINNOW_INLINE winnow_vector winnow_subtract(winnow_vector x, winnow_vector y) { return _mm256_sub_ps(x, y); }
WINNOW_INLINE winnow_vector winnow_multiply(winnow_vector x, winnow_vector y) { return _mm256_mul_ps(x, y); }
WINNOW_INLINE winnow_vector winnow_multiply_add(winnow_vector x, winnow_vector y, winnow_vector z) {
    return _mm256_fmadd_ps(x, y, z);
}
WINNOW_INLINE winnow_vector winnow_larger(winnow_vector x, winnow_vector y) { return _mm256_max_ps(x, y); }

// The sums of the lanes of as many vectors as a vector has lanes.
WINNOW_INLINE winnow_vector winnow_added(const winnow_vector * vectors) {
    __m256 fours[2];
    for (int four = 0; four < 2; four++) {
        const __m256 * of = vectors + 4 * four;
        const __m256 left = _mm256_add_ps(_mm256_unpacklo_ps(of[0], of[1]), _mm256_unpackhi_ps(of[0], of[1]));
        const __m256 right = _mm256_add_ps(_mm256_unpacklo_ps(of[2], of[3]), _mm256_unpackhi_ps(of[2], of[3]));
        fours[four] = _mm256_add_ps(_mm256_shuffle_ps(left, right, 0x44), _mm256_shuffle_ps(left, right, 0xEE));
    }
    const __m256 low = _mm256_permute2f128_ps(fours[0], fours[1], 0x20);
    return _mm256_add_ps(low, _mm256_permute2f128_ps(fours[0], fours[1], 0x31));
}
#endif
#endif

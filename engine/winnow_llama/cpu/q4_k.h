// The matrix product of repacked Q4_K weights for AVX2, in place of llama.cpp's: 1.8 times as fast on an EPYC of family
// 25. Activations are broadcast, four at a time, where llama.cpp shuffles them into place, and weights are unpacked once
// for 32 rows of activations. Integers are exact either way; floats are added once for 256 weights.
//
//     out[row][column] = sum over blocks of  d_row * (d * sum(scale * dot(weights, row)) - dmin * sum(min * sum(row)))
//
// A patch puts this into arch/x86/repack.cpp. tests/unit/test_llama_product.py compares it with llama.cpp's
// portable product.
#pragma once

#if (defined(__GNUC__) || defined(__clang__)) && defined(__AVX2__) && defined(__FMA__) && defined(__F16C__) && !defined(__AVX512BW__)
#define WINNOW_GEMM_Q4_K

namespace winnow {

constexpr int PARTS = 8;   // of a block, each of 32 weights, with a scale and a minimum of its own
constexpr int EIGHTS = 4;  // in a part: so many weights of a column lie side by side
constexpr int ROWS = 32;   // of activations, which share unpacked weights

// 256 weights of each of 8 columns, unpacked. Columns stand in the order 0 1 4 5 2 3 6 7.
struct alignas(32) Block {
    __m256i weights[PARTS][EIGHTS][2];  // four weights of each column
    __m256i scales[PARTS];              // 16 bits, each twice
    __m256i mins[PARTS / 2];            // 16 bits, those of two parts side by side
    __m256 d, dmin;
};

// From one order of the columns to the other, either way.
static inline __m256 reordered(__m256 columns) {
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(columns), 0xD8));
}

static inline void unpack_scales(const block_q4_Kx8 & packed, Block & block) {
    const __m128i twice = _mm_setr_epi8(0, 0, 1, 1, 4, 4, 5, 5, 2, 2, 3, 3, 6, 6, 7, 7);
    const __m128i pairs = _mm_setr_epi8(0, 8, 1, 9, 4, 12, 5, 13, 2, 10, 3, 11, 6, 14, 7, 15);
    uint32_t mins[PARTS][2];
    for (int part = 0; part < PARTS; part++) {
        uint32_t bits[3];
        memcpy(bits, packed.scales + 12 * part, 12);
        const uint32_t first = bits[0] & 0x3f3f3f3f;
        const uint32_t second = (bits[2] & 0x0f0f0f0f) | (((bits[0] >> 6) & 0x03030303) << 4);
        mins[part][0] = bits[1] & 0x3f3f3f3f;
        mins[part][1] = ((bits[2] >> 4) & 0x0f0f0f0f) | (((bits[1] >> 6) & 0x03030303) << 4);
        const __m128i scales = _mm_set_epi32(0, 0, (int) second, (int) first);
        block.scales[part] = _mm256_cvtepu8_epi16(_mm_shuffle_epi8(scales, twice));
    }
    for (int pair = 0; pair < PARTS / 2; pair++) {
        const __m128i both = _mm_loadu_si128((const __m128i *) mins[2 * pair]);
        block.mins[pair] = _mm256_cvtepu8_epi16(_mm_shuffle_epi8(both, pairs));
    }
}

static inline void unpack(const block_q4_Kx8 & packed, Block & block) {
    const __m256i nibble = _mm256_set1_epi8(0x0F);
    for (int pair = 0; pair < PARTS / 2; pair++) {
        for (int eight = 0; eight < EIGHTS; eight++) {
            const float * from = (const float *) (packed.qs + 256 * pair + 64 * eight);
            const __m256 left = _mm256_loadu_ps(from), right = _mm256_loadu_ps(from + 8);
            const __m256i fours[] = {
                _mm256_castps_si256(_mm256_shuffle_ps(left, right, 0x88)),
                _mm256_castps_si256(_mm256_shuffle_ps(left, right, 0xDD)),
            };
            for (int half = 0; half < 2; half++) {
                block.weights[2 * pair][eight][half] = _mm256_and_si256(fours[half], nibble);
                block.weights[2 * pair + 1][eight][half] = _mm256_and_si256(_mm256_srli_epi16(fours[half], 4), nibble);
            }
        }
    }
    unpack_scales(packed, block);
    block.d = reordered(GGML_F32Cx8_LOAD(packed.d));
    block.dmin = reordered(GGML_F32Cx8_LOAD(packed.dmin));
}

// The dot products of one part of 4 rows with the weights of WIDE blocks. 16 bits hold 16 times 15 * 128.
template <int WIDE>
static inline void dot(const Block * blocks, int part, const int8_t * rows, __m256i (*dots)[4]) {
    for (int wide = 0; wide < WIDE; wide++) {
        for (int row = 0; row < 4; row++) {
            dots[wide][row] = _mm256_setzero_si256();
        }
    }
#pragma GCC unroll 1
    for (int eight = 0; eight < EIGHTS; eight++) {
#pragma GCC unroll 2
        for (int half = 0; half < 2; half++) {
#pragma GCC unroll 4
            for (int row = 0; row < 4; row++) {
                int32_t four;
                memcpy(&four, rows + 32 * eight + 8 * row + 4 * half, 4);
                const __m256i everywhere = _mm256_set1_epi32(four);
#pragma GCC unroll 2
                for (int wide = 0; wide < WIDE; wide++) {
                    const __m256i products = _mm256_maddubs_epi16(blocks[wide].weights[part][eight][half], everywhere);
                    dots[wide][row] = _mm256_add_epi16(dots[wide][row], products);
                }
            }
        }
    }
}

// Add the products of 4 rows with WIDE blocks to `sums`.
template <int WIDE>
static inline void multiply(const Block * blocks, const block_q8_Kx4 & rows, __m256 (*sums)[4]) {
    __m256i scaled[WIDE][4], mins[WIDE][4];
    for (int wide = 0; wide < WIDE; wide++) {
        for (int row = 0; row < 4; row++) {
            scaled[wide][row] = mins[wide][row] = _mm256_setzero_si256();
        }
    }
    for (int part = 0; part < PARTS; part++) {
        __m256i dots[WIDE][4];
        dot<WIDE>(blocks, part, rows.qs + 128 * part, dots);
        for (int wide = 0; wide < WIDE; wide++) {
            for (int row = 0; row < 4; row++) {
                const __m256i products = _mm256_madd_epi16(dots[wide][row], blocks[wide].scales[part]);
                scaled[wide][row] = _mm256_add_epi32(scaled[wide][row], products);
            }
        }
    }
    for (int pair = 0; pair < PARTS / 2; pair++) {
        const __m128i * sixteens = (const __m128i *) (rows.bsums + 16 * pair);
        alignas(16) int32_t both[4];  // of each row, the sums of two parts
        _mm_store_si128((__m128i *) both, _mm_hadd_epi16(_mm_loadu_si128(sixteens), _mm_loadu_si128(sixteens + 1)));
        for (int wide = 0; wide < WIDE; wide++) {
            for (int row = 0; row < 4; row++) {
                const __m256i products = _mm256_madd_epi16(_mm256_set1_epi32(both[row]), blocks[wide].mins[pair]);
                mins[wide][row] = _mm256_add_epi32(mins[wide][row], products);
            }
        }
    }
    for (int wide = 0; wide < WIDE; wide++) {
        for (int row = 0; row < 4; row++) {
            const __m256 more = _mm256_mul_ps(blocks[wide].d, _mm256_cvtepi32_ps(scaled[wide][row]));
            const __m256 less = _mm256_mul_ps(blocks[wide].dmin, _mm256_cvtepi32_ps(mins[wide][row]));
            sums[wide][row] =
                _mm256_fmadd_ps(_mm256_set1_ps(rows.d[row]), _mm256_sub_ps(more, less), sums[wide][row]);
        }
    }
}

// 4 * `fours` rows, at most ROWS, times 8 * WIDE columns.
template <int WIDE>
static void tile(int blocks, float * out, size_t stride, const block_q4_Kx8 * columns, const block_q8_Kx4 * rows,
                 int fours) {
    __m256 sums[ROWS / 4][WIDE][4];
    for (int four = 0; four < fours; four++) {
        for (int wide = 0; wide < WIDE; wide++) {
            for (int row = 0; row < 4; row++) {
                sums[four][wide][row] = _mm256_setzero_ps();
            }
        }
    }
    for (int at = 0; at < blocks; at++) {
        Block unpacked[WIDE];
        for (int wide = 0; wide < WIDE; wide++) {
            unpack(columns[wide * blocks + at], unpacked[wide]);
        }
        for (int four = 0; four < fours; four++) {
            multiply<WIDE>(unpacked, rows[four * blocks + at], sums[four]);
        }
    }
    for (int four = 0; four < fours; four++) {
        for (int wide = 0; wide < WIDE; wide++) {
            for (int row = 0; row < 4; row++) {
                _mm256_storeu_ps(out + (4 * four + row) * stride + 8 * wide, reordered(sums[four][wide][row]));
            }
        }
    }
}

}  // namespace winnow

// As ggml_gemm_q4_K_8x8_q8_K: `n` weights a column, `nr` rows (a multiple of 4), `nc` columns (a multiple of 8).
extern "C" void winnow_gemm_q4_K(int n, float * out, size_t stride, const void * weights, const void * activations,
                                 int nr, int nc) {
    const int blocks = n / QK_K;
    for (int row = 0; row < nr; row += winnow::ROWS) {
        const block_q8_Kx4 * rows = (const block_q8_Kx4 *) activations + (size_t) row / 4 * blocks;
        const int fours = (nr - row < winnow::ROWS ? nr - row : winnow::ROWS) / 4;
        for (int column = 0; column < nc; column += 16) {
            const block_q4_Kx8 * columns = (const block_q4_Kx8 *) weights + (size_t) column / 8 * blocks;
            float * to = out + row * stride + column;
            if (column + 16 <= nc) {
                winnow::tile<2>(blocks, to, stride, columns, rows, fours);
            } else {
                winnow::tile<1>(blocks, to, stride, columns, rows, fours);
            }
        }
    }
}
#endif

// Products of quantised weights with 2 to 16 tokens on NVIDIA GPUs with 8-bit tensor cores (compute capability 8.0):
// what the verification of a draft evaluates. llama.cpp's kernels do the work of a token again for each further one (up
// to 8), or fill tiles made for prompts (from 9 on): a pass over 8 takes twice as long as a plain step. Here a block
// multiplies 16 rows of weights, its warps share the columns, and a token more costs little. Tokens are rounded to 8
// bits by 32 values and multiplied as llama.cpp does it for a single one, so that results differ by the order of sums
// only.
//
// What is fused with a product: the sum with a bias or with as many values as it has, and gate and up of a feed-forward
// layer with the SwiGLU behind them. Weights are fetched before the kernel waits for the one that makes its tokens.
#pragma once

#include <cuda_fp16.h>

namespace winnow {

enum weights { Q4_K, Q6_K };  // with 256 columns in a block

constexpr int BYTES[] = { 144, 210 };  // of a block
constexpr int MOST_TOKENS = 16;
constexpr int ROWS = 16;        // of a block
constexpr int COLUMN = ROWS + 4;  // floats between the sums of two tokens: no two threads meet in a bank

// Of a block, as many as have room for their registers.
constexpr __host__ __device__ int most_warps(weights type, bool gated) {
    return type == Q6_K && gated ? 8 : 12;
}

// 256 values of `N` tokens: 8 bits each by part of 32 and token, then the scale of each, and the sum of each by token,
// as the sum of two halves.
template <int N> struct __align__(16) tokens_block {
    signed char values[8][N][32];
    float  scale[8][N];
    half   sum_high[N][8];
    half   sum_low[N][8];
};

// Programmatic dependent launch, from compute capability 9.0 on; otherwise, kernels come one after the other anyway.
static __device__ __forceinline__ void let_the_next_begin() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

static __device__ __forceinline__ void wait_for_the_one_before() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// A thread's share of 256 columns of 16 rows: of rows `group` and `group + 8`.
template <weights type> struct share;

template <> struct share<Q4_K> {
    uint2 low_high[2][4];  // nibbles of two parts
    uint4 scales[2];
};

template <> struct share<Q6_K> {
    unsigned low[2][2][2][2];  // half, half of a part, parts 0 and 2 or 1 and 3
    unsigned high[2][2][2];
    unsigned scales[2][4];
    float    d[2];
};

static __device__ __forceinline__ unsigned two_bytes(const unsigned char * at) {
    return __ldg((const unsigned short *) at);
}

static __device__ __forceinline__ unsigned four_bytes(const unsigned char * at) {  // blocks of Q6_K are aligned to 2
    return two_bytes(at) | two_bytes(at + 2) << 16;
}

static __device__ __forceinline__ void fetch(share<Q4_K> & s, const unsigned char * const * rows, int block, int lane) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        const unsigned char * at = rows[r] + (size_t) block * BYTES[Q4_K];
        s.scales[r] = __ldg((const uint4 *) at);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            s.low_high[r][j] = __ldg((const uint2 *) (at + 16 + 32*j + 8*lane));
        }
    }
}

static __device__ __forceinline__ void fetch(share<Q6_K> & s, const unsigned char * const * rows, int block, int lane) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        const unsigned char * at = rows[r] + (size_t) block * BYTES[Q6_K];
#pragma unroll
        for (int n = 0; n < 2; ++n) {
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                s.low[r][n][h][0] = four_bytes(at + 64*n + 16*h + 4*lane);
                s.low[r][n][h][1] = four_bytes(at + 64*n + 32 + 16*h + 4*lane);
                s.high[r][n][h]   = four_bytes(at + 128 + 32*n + 16*h + 4*lane);
            }
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            s.scales[r][i] = four_bytes(at + 192 + 4*i);
        }
        s.d[r] = __half2float(__ldg((const half *) (at + 208)));
    }
}

// An accumulator that begins with this holds, as a float, 12582912 more than the sum: no conversion is needed.
constexpr int   BEGIN = 0x4B400000;
constexpr float MORE  = 12582912.0f;

static __device__ __forceinline__ void multiply_32(int * c, const unsigned * a, const uint2 b) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y));
#endif
}

static __device__ __forceinline__ void multiply_16(int * c, const unsigned * a, const unsigned b) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 "
        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(b));
#endif
}

static __device__ __forceinline__ void multiply_halves(float * c, const unsigned * a, const unsigned b) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(b));
#endif
}

static __device__ __forceinline__ float scaled_byte(unsigned word, int i, float d) {  // d times an unsigned byte
    return fmaf(d, __uint_as_float(__byte_perm(word, 0x4B000000, 0x7440 | i)), -8388608.0f * d);
}

template <int TILES>
static __device__ __forceinline__ void multiply(
        float (*sums)[4], const share<Q4_K> & s, const tokens_block<8*TILES> & tokens, int group, int lane) {
    float    d[2], d_min[2], scale[2][8];
    unsigned mins[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        const float2 both = __half22float2(*(const half2 *) &s.scales[r].x);
        d[r] = both.x;
        d_min[r] = both.y;
        const unsigned a = s.scales[r].y, b = s.scales[r].z, c = s.scales[r].w;
        const unsigned scales[2] = { a & 0x3f3f3f3f, (c & 0x0f0f0f0f) | (a >> 2 & 0x30303030) };
        const unsigned least     = lane < 2 ? b & 0x3f3f3f3f : (c >> 4 & 0x0f0f0f0f) | (b >> 2 & 0x30303030);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            scale[r][i] = scaled_byte(scales[i / 4], i % 4, d[r]);
        }
        // Two halves: 1024 and a byte each, less 1024.
        mins[r] = __byte_perm(least, 0x64646464, lane % 2 ? 0x4342 : 0x4140);
        *(half2 *) &mins[r] = __hsub2(*(half2 *) &mins[r], __float2half2_rn(1024.0f));
    }
#pragma unroll
    for (int part = 0; part < 8; ++part) {
        const int j = part / 2, shift = part % 2 * 4;
        const unsigned a[4] = {
            s.low_high[0][j].x >> shift & 0x0f0f0f0f, s.low_high[1][j].x >> shift & 0x0f0f0f0f,
            s.low_high[0][j].y >> shift & 0x0f0f0f0f, s.low_high[1][j].y >> shift & 0x0f0f0f0f,
        };
#pragma unroll
        for (int tile = 0; tile < TILES; ++tile) {
            int c[4] = { BEGIN, BEGIN, BEGIN, BEGIN };
            multiply_32(c, a, *(const uint2 *) &tokens.values[part][8*tile + group][8*lane]);
            const float2 of_token = *(const float2 *) &tokens.scale[part][8*tile + 2*lane];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                sums[tile][i] += (__int_as_float(c[i]) - MORE)
                               * (scale[i / 2][part] * (i % 2 ? of_token.y : of_token.x));
            }
        }
    }
#pragma unroll
    for (int tile = 0; tile < TILES; ++tile) {
        float c[4] = {};
        multiply_halves(c, mins, *(const unsigned *) &tokens.sum_high[8*tile + group][2*lane]);
        multiply_halves(c, mins, *(const unsigned *) &tokens.sum_low[8*tile + group][2*lane]);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            sums[tile][i] -= d_min[i / 2] * c[i];
        }
    }
}

template <int TILES>
static __device__ __forceinline__ void multiply(
        float (*sums)[4], const share<Q6_K> & s, const tokens_block<8*TILES> & tokens, int group, int lane) {
#pragma unroll
    for (int part = 0; part < 8; ++part) {  // 32 values, whose two halves have a scale each
        const int n = part / 4, of_low = part % 2, low_shift = part % 4 / 2 * 4, high_shift = part % 4 * 2;
        float partly[TILES][4] = {};
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            unsigned a[2];
            float    scale[2];
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                const unsigned q = (s.low[r][n][h][of_low] >> low_shift & 0x0f0f0f0f)
                                 | (s.high[r][n][h] >> high_shift & 0x03030303) << 4;
                a[r] = (q + 0x60606060) ^ 0x80808080;  // less 32, by bytes
                const int at = 8*n + 2*(part % 4) + h;
                scale[r] = (float) (signed char) (s.scales[r][at / 4] >> 8*(at % 4));
            }
#pragma unroll
            for (int tile = 0; tile < TILES; ++tile) {
                int c[4] = { BEGIN, BEGIN, BEGIN, BEGIN };
                multiply_16(c, a, *(const unsigned *) &tokens.values[part][8*tile + group][16*h + 4*lane]);
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    partly[tile][i] += (__int_as_float(c[i]) - MORE) * scale[i / 2];
                }
            }
        }
#pragma unroll
        for (int tile = 0; tile < TILES; ++tile) {
            const float2 of_token = *(const float2 *) &tokens.scale[part][8*tile + 2*lane];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                sums[tile][i] += partly[tile][i] * (s.d[i / 2] * (i % 2 ? of_token.y : of_token.x));
            }
        }
    }
}

// As quantize_q8_1 rounds, into tokens_block. A block for 256 values of a token.
template <int N>
static __global__ void __launch_bounds__(256) round_tokens(const float * x, tokens_block<N> * y, long long stride) {
    let_the_next_begin();
    wait_for_the_one_before();
    const int    token = blockIdx.y, part = threadIdx.x / 32, i = threadIdx.x % 32;
    const float  value = x[token*stride + 256*(long long) blockIdx.x + threadIdx.x];
    float        d     = fabsf(value);
    for (int apart = 16; apart; apart /= 2) {
        d = fmaxf(d, __shfl_xor_sync(0xffffffff, d, apart));
    }
    d /= 127.0f;
    const int q     = d == 0.0f ? 0 : (int) roundf(value / d);
    int       total = q;
    for (int apart = 16; apart; apart /= 2) {
        total += __shfl_xor_sync(0xffffffff, total, apart);
    }
    tokens_block<N> & block = y[blockIdx.x];
    block.values[part][token][i] = (signed char) q;
    if (i == 0) {
        const float rounded = __half2float(__float2half(d));
        const float sum     = rounded * (float) total;
        const half  high    = __float2half(sum);
        block.scale[part][token]    = rounded;
        block.sum_high[token][part] = high;
        block.sum_low[token][part]  = __float2half(sum - __half2float(high));
    }
}

// What is added to a product: `bias` has a value for each row, or `stride` apart those of each token.
struct added {
    const float * bias;
    long long     stride;
};

// Weights are (rows, 256 blocks), row after row; `dst` is (tokens, rows). With `GATED`, silu(gate · y) (weights · y).
template <weights type, int TILES, bool GATED>
static __global__ void __launch_bounds__(32 * most_warps(type, GATED)) multiply_few_tokens(
        const unsigned char * weights, const unsigned char * gate, const tokens_block<8*TILES> * tokens, added add,
        float * dst, int blocks, int rows, int n_tokens, long long stride) {
    constexpr int ALL = 1 + GATED;
    let_the_next_begin();
    const int warp = threadIdx.x / 32, warps = blockDim.x / 32, group = threadIdx.x % 32 / 4, lane = threadIdx.x % 4;
    const long long first = (long long) blockIdx.x * ROWS;
    const size_t  row   = (size_t) blocks * BYTES[type];
    const unsigned char * of[ALL][2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        const size_t at = (size_t) min(first + group + 8*r, (long long) rows - 1) * row;
        of[0][r] = weights + at;
        if (GATED) {
            of[ALL - 1][r] = gate + at;
        }
    }
    constexpr int HELD = type == Q6_K ? 1 : ALL;  // two shares of Q6_K do not fit into a thread's registers
    float         sums[ALL][TILES][4] = {};
    share<type>   shares[HELD];
    int           block = warp;
#pragma unroll
    for (int m = 0; m < HELD; ++m) {
        fetch(shares[m], of[m], block, lane);
    }
    wait_for_the_one_before();
    while (true) {
        const int next = block + warps;
        share<type> later;
        if (!GATED && next < blocks) {
            fetch(later, of[0], next, lane);
        }
#pragma unroll
        for (int m = 0; m < ALL; ++m) {
            if (m >= HELD) {
                fetch(shares[0], of[m], block, lane);
            }
            multiply<TILES>(sums[m], shares[m % HELD], tokens[block], group, lane);
        }
        block = next;
        if (block >= blocks) {
            break;
        }
        if (!GATED) {
            shares[0] = later;
        }
#pragma unroll
        for (int m = 0; GATED && m < HELD; ++m) {
            fetch(shares[m], of[m], block, lane);
        }
    }

    extern __shared__ float shared[];  // (warps, products, tokens, COLUMN)
    constexpr int PRODUCT = 8*TILES * COLUMN;
#pragma unroll
    for (int m = 0; m < ALL; ++m) {
#pragma unroll
        for (int tile = 0; tile < TILES; ++tile) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int token = 8*tile + 2*lane + i % 2;
                shared[(warp*ALL + m)*PRODUCT + token*COLUMN + group + i / 2 * 8] = sums[m][tile][i];
            }
        }
    }
    __syncthreads();
    for (int at = threadIdx.x; at < ROWS * 8*TILES; at += blockDim.x) {
        const int     token = at / ROWS, r = at % ROWS;
        const long long own   = first + r;
        if (token >= n_tokens || own >= rows) {
            continue;
        }
        float total[ALL] = {};
        for (int w = 0; w < warps; ++w) {
#pragma unroll
            for (int m = 0; m < ALL; ++m) {
                total[m] += shared[(w*ALL + m)*PRODUCT + token*COLUMN + r];
            }
        }
        float result = total[0];
        if (GATED) {
            const float g = total[ALL - 1];
            result *= g / (1.0f + expf(-g));
        }
        if (add.bias) {
            result += add.bias[token*add.stride + own];
        }
        dst[token*stride + own] = result;
    }
}

}  // namespace winnow

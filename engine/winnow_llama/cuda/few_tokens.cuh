// Has llama.cpp multiply few tokens by the kernels of few_tokens_kernels.cuh, and fuses what stands behind a product.
#pragma once

#include "ggml-cuda/common.cuh"

#if !defined(GGML_USE_HIP) && !defined(GGML_USE_MUSA)
#define WINNOW_FEW_TOKENS_CUDA
#include "few_tokens_kernels.cuh"

extern "C" {
char winnow_has_few_tokens_cuda = 1;
}

namespace winnow {

constexpr int64_t MOST_COLUMNS = 1 << 16;

static bool takes(const ggml_backend_cuda_context & ctx, const ggml_tensor * product) {
    const ggml_tensor * weights = product->src[0], * tokens = product->src[1];
    return (weights->type == GGML_TYPE_Q4_K || weights->type == GGML_TYPE_Q6_K) && tokens->type == GGML_TYPE_F32
        && product->type == GGML_TYPE_F32 && tokens->ne[1] >= 2 && tokens->ne[1] <= MOST_TOKENS
        && weights->ne[2]*weights->ne[3]*tokens->ne[2]*tokens->ne[3] == 1 && weights->ne[0] % 256 == 0
        && weights->ne[0] <= MOST_COLUMNS && ctx.curr_stream_no == 0
        && ggml_is_contiguous(weights) && tokens->nb[0] == sizeof(float) && product->nb[0] == sizeof(float)
        && ggml_backend_buffer_get_usage(weights->buffer) != GGML_BACKEND_BUFFER_USAGE_COMPUTE
        && !weights->view_src && ggml_cuda_info().devices[ggml_cuda_get_device()].cc >= GGML_CUDA_CC_AMPERE
        && ggml_cuda_info().devices[ggml_cuda_get_device()].cc < GGML_CUDA_CC_OFFSET_AMD;
}

// The tokens of a graph's tensor, rounded once for all products in a row: queries, keys and values have the same.
template <int N>
static const tokens_block<N> * rounded(ggml_backend_cuda_context & ctx, const ggml_tensor * x) {
    if (!ctx.winnow_tokens) {
        CUDA_CHECK(cudaMalloc(&ctx.winnow_tokens, MOST_COLUMNS / 256 * sizeof(tokens_block<MOST_TOKENS>)));
    }
    auto * tokens = (tokens_block<N> *) ctx.winnow_tokens;
    if (ctx.winnow_rounded != x) {
        ctx.winnow_rounded = x;
        const dim3 grid(x->ne[0] / 256, x->ne[1]);
        ggml_cuda_kernel_launch(round_tokens<N>, ggml_cuda_kernel_launch_params(grid, dim3(256), 0, ctx.stream()),
            (const float *) x->data, tokens, (long long) (x->nb[1] / sizeof(float)));
    }
    return tokens;
}

template <weights type, int TILES, bool GATED>
static void launch(ggml_backend_cuda_context & ctx, const ggml_tensor * product, const ggml_tensor * gate, added add,
                   ggml_tensor * dst) {
    const ggml_tensor * weights = product->src[0], * x = product->src[1];
    const int blocks = weights->ne[0] / 256, rows = weights->ne[1], n = x->ne[1];
    const tokens_block<8*TILES> * tokens = rounded<8*TILES>(ctx, x);
    const int most = most_warps(type, GATED), rounds = (blocks + most - 1) / most;
    const int warps = (blocks + rounds - 1) / rounds;
    const size_t shared = sizeof(float) * warps * (1 + GATED) * 8*TILES * COLUMN;
    ggml_cuda_kernel_launch(multiply_few_tokens<type, TILES, GATED>,
        ggml_cuda_kernel_launch_params(dim3((rows + ROWS - 1) / ROWS), dim3(32 * warps), shared, ctx.stream()),
        (const uint8_t *) weights->data, gate ? (const uint8_t *) gate->src[0]->data : (const uint8_t *) nullptr,
        tokens, add, (float *) dst->data, blocks, rows, n, (long long) (dst->nb[1] / sizeof(float)));
}

template <bool GATED>
static void launch(ggml_backend_cuda_context & ctx, const ggml_tensor * product, const ggml_tensor * gate, added add,
                   ggml_tensor * dst) {
    const bool few = product->src[1]->ne[1] <= 8;
    if (product->src[0]->type == GGML_TYPE_Q4_K) {
        (few ? launch<Q4_K, 1, GATED> : launch<Q4_K, 2, GATED>)(ctx, product, gate, add, dst);
    } else {
        (few ? launch<Q6_K, 1, GATED> : launch<Q6_K, 2, GATED>)(ctx, product, gate, add, dst);
    }
}

// The product alone, if this is one of those above.
static bool few_tokens(ggml_backend_cuda_context & ctx, const ggml_tensor * product) {
    if (!takes(ctx, product)) {
        return false;
    }
    launch<false>(ctx, product, nullptr, {}, const_cast<ggml_tensor *>(product));
    return true;
}

static bool may_add(const ggml_tensor * sum, const ggml_tensor * product, const ggml_tensor * bias) {
    if (bias->type != GGML_TYPE_F32 || bias->nb[0] != sizeof(float) || bias->ne[0] != product->ne[0]
            || bias->ne[2]*bias->ne[3] != 1 || (bias->ne[1] != 1 && bias->ne[1] != product->ne[1])
            || !ggml_are_same_shape(sum, product) || sum->nb[0] != sizeof(float)) {
        return false;
    }
    // A thread reads its value before it writes there; another's it must not overwrite.
    const char * a = (const char *) bias->data, * b = (const char *) sum->data;
    const bool apart = a + ggml_nbytes(bias) <= b || b + ggml_nbytes(sum) <= a;
    return apart || (a == b && bias->ne[1] == sum->ne[1] && bias->nb[1] == sum->nb[1]);
}

// Evaluate the node, and what is fused with it; the number of further nodes that are done with, or -1.
static int few_tokens_fused(ggml_backend_cuda_context & ctx, const ggml_cgraph * graph, int i) {
    const ggml_tensor * product = graph->nodes[i];
    if (product->op != GGML_OP_MUL_MAT || !takes(ctx, product)) {
        return -1;
    }
    const ggml_op gated[] = { GGML_OP_MUL_MAT, GGML_OP_MUL_MAT, GGML_OP_GLU };
    const int     last    = i + 2;
    if (ggml_can_fuse_subgraph(graph, i, 3, gated, &last, 1)) {
        const ggml_tensor * glu = graph->nodes[last], * gate = glu->src[0], * up = glu->src[1];
        const ggml_tensor * next = graph->nodes[i + 1];
        const bool both = (gate == product && up == next) || (gate == next && up == product);
        if (both && takes(ctx, next) && gate->src[1] == up->src[1] && gate->src[0]->type == up->src[0]->type
                && ggml_are_same_shape(gate->src[0], up->src[0]) && ggml_get_glu_op(glu) == GGML_GLU_OP_SWIGLU
                && ggml_get_op_params_i32(glu, 1) == 0 && glu->nb[0] == sizeof(float)) {
            launch<true>(ctx, up, gate, {}, const_cast<ggml_tensor *>(glu));
            return 2;
        }
    }
    const ggml_op with_sum[] = { GGML_OP_MUL_MAT, GGML_OP_ADD };
    if (ggml_can_fuse(graph, i, with_sum, 2)) {
        ggml_tensor * sum = graph->nodes[i + 1];
        const ggml_tensor * bias = sum->src[0] == product ? sum->src[1] : sum->src[0];
        if (bias != product && may_add(sum, product, bias)) {
            const long long stride = bias->ne[1] == 1 ? 0 : bias->nb[1] / sizeof(float);
            launch<false>(ctx, product, nullptr, { (const float *) bias->data, stride }, sum);
            return 1;
        }
    }
    return -1;
}

}  // namespace winnow
#endif

# Puts Winnow's own code into llama.cpp's sources in CMAKE_CURRENT_SOURCE_DIR/vendor/llama.cpp, once.

function(replace_once text old new file)
  string(FIND "${${text}}" "${old}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "${file} has changed: make what ${CMAKE_CURRENT_LIST_DIR} puts into it fit")
  endif()
  string(FIND "${${text}}" "${old}" last REVERSE)
  if(NOT found EQUAL last)
    message(FATAL_ERROR "${file} has more than one place for what ${CMAKE_CURRENT_LIST_DIR} puts into it")
  endif()
  string(REPLACE "${old}" "${new}" replaced "${${text}}")
  set(${text} "${replaced}" PARENT_SCOPE)
endfunction()

# Where there is no OpenMP, threads wait as wait.h says.
set(ggml_cpu ${CMAKE_CURRENT_SOURCE_DIR}/vendor/llama.cpp/ggml/src/ggml-cpu)
set(barrier ${ggml_cpu}/ggml-cpu.c)
file(READ ${barrier} source)
if(CMAKE_SYSTEM_NAME STREQUAL Linux AND NOT source MATCHES winnow_wait)
  set(passed "&tp->n_barrier_passed")
  replace_once(source
    "while (atomic_load_explicit(${passed}, memory_order_relaxed) == n_passed) {\n        ggml_thread_cpu_relax();\n    }"
    "winnow_wait(${passed}, n_passed);"
    ggml-cpu.c)
  replace_once(source
    "atomic_fetch_add_explicit(${passed}, 1, memory_order_seq_cst);\n        return;"
    "atomic_fetch_add_explicit(${passed}, 1, memory_order_seq_cst);\n        winnow_wake(${passed});\n        return;"
    ggml-cpu.c)
  file(WRITE ${barrier} "#include \"${CMAKE_CURRENT_LIST_DIR}/cpu/wait.h\"\n${source}")
endif()

# few_tokens.h multiplies few tokens with plain weights.
file(READ ${barrier} source)
if(CMAKE_C_COMPILER_ID MATCHES "Clang|GNU" AND NOT source MATCHES WINNOW_FEW_TOKENS)
  set(tiles "    if (ggml_compute_forward_mul_mat_tiled(params, dst)) {")
  replace_once(source "${tiles}"
    "#ifdef WINNOW_FEW_TOKENS\n    if (!winnow_takes(dst))\n#endif\n${tiles}"
    ggml-cpu.c)
  set(larger "\n    if (nr0 == 1 || nr1 == 1) {")
  replace_once(source "${larger}"
    "\n#ifdef WINNOW_FEW_TOKENS\n    if (winnow_takes(dst)) {\n        chunk_size = WINNOW_ROWS;\n    }\n#endif${larger}"
    ggml-cpu.c)
  string(JOIN "\n" chunk "    // block-tiling attempt" "    const int64_t blck_0 = 16;" "    const int64_t blck_1 = 16;" ""
    "    const size_t src1_col_stride = src1_cont")
  replace_once(source "${chunk}"
    "#ifdef WINNOW_FEW_TOKENS\n    if (winnow_takes(dst)) {\n        winnow_few_tokens(dst, wdata, ir0_start, ir0_end, ir1_start, ir1_end);\n        return;\n    }\n#endif\n${chunk}"
    ggml-cpu.c)
  set(before "#include \"tiled/tiled.h\"\n")
  replace_once(source "${before}" "${before}#include \"${CMAKE_CURRENT_LIST_DIR}/cpu/few_tokens.h\"\n" ggml-cpu.c)
  file(WRITE ${barrier} "${source}")
endif()

# few_queries.h has few tokens attend.
set(attention ${ggml_cpu}/ops.cpp)
file(READ ${attention} source)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang|GNU" AND NOT source MATCHES WINNOW_FEW_QUERIES)
  set(before "#include \"vec.h\"\n\n#include <algorithm>\n#include <cfloat>\n#include <cmath>\n")
  replace_once(source "${before}" "${before}\n#include \"${CMAKE_CURRENT_LIST_DIR}/cpu/few_queries.h\"\n" ops.cpp)
  string(JOIN "\n" begin "static void ggml_compute_forward_flash_attn_ext_f16(" "        const ggml_compute_params * params,"
    "        ggml_tensor * dst) {\n")
  replace_once(source "${begin}"
    "${begin}#ifdef WINNOW_FEW_QUERIES\n    if (winnow::few_queries(params, dst)) {\n        return;\n    }\n#endif\n"
    ops.cpp)
  file(WRITE ${attention} "${source}")
endif()

# With AVX2, q4_k.h multiplies.
set(product ${ggml_cpu}/arch/x86/repack.cpp)
file(READ ${product} source)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang|GNU" AND NOT source MATCHES WINNOW_GEMM_Q4_K)
  set(include "#include \"../../repack.h\"\n")
  replace_once(source "${include}" "${include}#include \"${CMAKE_CURRENT_LIST_DIR}/cpu/q4_k.h\"\n" arch/x86/repack.cpp)
  string(JOIN ", " parameters "void ggml_gemm_q4_K_8x8_q8_K(int n" "float * GGML_RESTRICT s" "size_t bs"
    "const void * GGML_RESTRICT vx" "const void * GGML_RESTRICT vy" "int nr" "int nc) {\n")
  replace_once(source "${parameters}"
    "${parameters}#ifdef WINNOW_GEMM_Q4_K\n    return winnow_gemm_q4_K(n, s, bs, vx, vy, nr, nc);\n#endif\n"
    arch/x86/repack.cpp)
  file(WRITE ${product} "${source}")
endif()

# The same in a file of llama.cpp.
function(put file old new)
  file(READ ${CMAKE_CURRENT_SOURCE_DIR}/vendor/llama.cpp/${file} source)
  replace_once(source "${old}" "${new}" ${file})
  file(WRITE ${CMAKE_CURRENT_SOURCE_DIR}/vendor/llama.cpp/${file} "${source}")
endfunction()

# What follows is done at once: kept_graphs.h stands for all of it.
file(READ ${CMAKE_CURRENT_SOURCE_DIR}/vendor/llama.cpp/src/llama-context.h source)
if(source MATCHES kept_graphs.h)
  return()
endif()

# On NVIDIA GPUs, few_tokens.cuh multiplies few tokens. It keeps a graph's tokens in the backend.
set(cuda ggml/src/ggml-cuda/ggml-cuda.cu)
set(before "#include \"ggml-cuda/lightning-indexer.cuh\"\n")
put(${cuda} "${before}" "${before}#include \"${CMAKE_CURRENT_LIST_DIR}/cuda/few_tokens.cuh\"\n")
set(fuse "    ggml_tensor * node = cgraph->nodes[i];\n\n    if (node->op == GGML_OP_MUL) {\n        ggml_cuda_moe_weighted")
string(JOIN "\n" first "#ifdef WINNOW_FEW_TOKENS_CUDA"
  "    const int done = winnow::few_tokens_fused(*cuda_ctx, cgraph, i);" "    if (done > 0) {" "        return done;" "    }"
  "#endif\n")
put(${cuda} "${fuse}" "${first}${fuse}")
string(JOIN "\n" product "    if (ggml_cuda_op_mul_mat_use_fwht(dst) && ggml_cuda_op_fwht(ctx, src1, dst)) {" "        return;" "    }" ""
  "    // If src0 is a temporary")
string(JOIN "\n" first "#ifdef WINNOW_FEW_TOKENS_CUDA" "    if (winnow::few_tokens(ctx, dst)) {" "        return;" "    }" "#endif\n")
put(${cuda} "${product}" "${first}${product}")
put(${cuda} "    bool graph_evaluated_or_captured = false;\n"
  "    cuda_ctx->winnow_rounded = nullptr;\n    bool graph_evaluated_or_captured = false;\n")
put(${cuda} "    if (copy_event != nullptr) {\n"
  "    if (winnow_tokens != nullptr) {\n        CUDA_CHECK(cudaFree(winnow_tokens));\n    }\n    if (copy_event != nullptr) {\n")
set(last "    ggml_cuda_pool & pool() {\n        return pool(device);\n    }\n")
string(JOIN "\n" members "" "    void *       winnow_tokens  = nullptr;  // rounded by few_tokens.cuh"
  "    const void * winnow_rounded = nullptr;  // the tensor they are of\n")
put(ggml/src/ggml-cuda/common.cuh "${last}" "${last}${members}")

# A CUDA graph that is there is updated at once where its context has grown, not after a pass without it, and is kept
# from one question to the next.
set(changed "                if (properties_changed")
put(${cuda} "${changed}) {\n                    // Properties changed - reset"
  "${changed} && !WINNOW_UPDATES_AT_ONCE(cgraph)) {\n                    // Properties changed - reset")
set(update "cuda_graph_update_required = graph->instance == nullptr")
put(${cuda} "${update};" "${update} || properties_changed;")
set(age "time_now - it->second->last_used_time >=")
put(ggml/src/ggml-cuda/common.cuh "${age} 10'000'000)" "${age} 600'000'000)")

# kept_graphs.h keeps a graph for each number of few tokens, however many sequences these belong to.
set(active "    llm_graph_result * gf_res_prev_active = nullptr;\n")
put(src/llama-context.h "${active}" "${active}\n    #include \"${CMAKE_CURRENT_LIST_DIR}/context/kept_graphs.h\"\n")
set(chosen "    auto * res = get_gf_res_prev();\n    auto * gf  = res->get_gf();\n")
put(src/llama-context.cpp "${chosen}" "    winnow_choose_graphs(ubatch.n_tokens);\n${chosen}")
set(reserve "    for (auto & res : gf_res_prev) {\n        res.reset();\n    }\n")
put(src/llama-context.cpp "${reserve}" "    winnow_forget_graphs();\n${reserve}")
set(update "        // TODO: make mctx->apply() report if a graph reserve is needed")
put(src/llama-context.cpp "${update}" "        winnow_forget_graphs();\n${update}")
set(same "ubatch.n_seqs_unq   == other.ubatch.n_seqs_unq")
put(src/llama-graph.h "${same}" "(${same} || (cparams.kv_unified && !ubatch.equal_seqs()))")

# choices.h has a GPU find the likeliest tokens.
set(class "struct llama_context {\n")
put(src/llama-context.h "${class}" "${class}    #include \"${CMAKE_CURRENT_LIST_DIR}/context/choices.h\"\n\n")
set(built "        gf = model.build_graph(gparams);\n\n        //LLAMA_LOG_INFO")
put(src/llama-context.cpp "${built}"
  "        gf = model.build_graph(gparams);\n        winnow_add_choices(res, gf);\n\n        //LLAMA_LOG_INFO")
set(wanted "if (logits.data && t_logits && n_outputs > 0 && needs_raw_logits(ubatch, sampling.samplers)")
put(src/llama-context.cpp "${wanted}) {"
  "${wanted} &&\n            !winnow_takes_choices(res, n_outputs_prev, n_outputs)) {")
string(JOIN "\n" choose "" "extern \"C\" LLAMA_API void winnow_choose(llama_context * ctx, bool instead_of_logits) {"
  "    ctx->winnow_can_choose = true;" "    ctx->winnow_chooses    = instead_of_logits;" "}" ""
  "// By the last pass, in the order of its outputs; null if it gave logits."
  "extern \"C\" LLAMA_API const int32_t * winnow_choices(llama_context * ctx) {" "    ctx->synchronize();"
  "    return ctx->winnow_has_chosen ? ctx->winnow_chosen.data() : nullptr;" "}" "")
set(interface "float * llama_get_logits(llama_context * ctx) {\n")
put(src/llama-context.cpp "${interface}" "${choose}\n${interface}")

# On a GPU, a graph serves until there are 1,024 tokens more.
set(on_host "!layers[0].k->buffer || ggml_backend_buffer_is_host(layers[0].k->buffer)")
put(src/llama-kv-cache.cpp "std::max(n_pad, 256u);" "std::max(n_pad, layers.empty() || ${on_host} ? 256u : 1024u);")

# trunk.h has branches see what stands before them.
set(class "class llama_kv_cache : public llama_memory_i {\npublic:\n")
put(src/llama-kv-cache.h "${class}" "${class}    llama_pos winnow_trunk = 0;\n\n")
set(parts "    int64_t n_stream;\n    int64_t n_tps;\n")
put(src/llama-kv-cache.cpp "${parts}};\n" "${parts}\n    llama_pos winnow_trunk;\n};\n")
set(parts "        /*.n_tps            =*/ n_tps,\n")
put(src/llama-kv-cache.cpp "${parts}" "${parts}        winnow_trunk,\n")
set(hidden "                if (!cells.seq_has(j, seq_id)")
put(src/llama-kv-cache.cpp "${hidden}) {"
  "${hidden} && !(cells.seq_has(j, 0) && cells.pos_get(j) < args.winnow_trunk)) {")
put(src/llama-kv-cache-iswa.cpp "#include <algorithm>\n" "#include \"${CMAKE_CURRENT_LIST_DIR}/context/trunk.h\"\n\n#include <algorithm>\n")

# A draft reads the inputs of layers, which the graphs of some other architectures keep.
set(layer "        ggml_tensor * inpSA = inpL;\n")
put(src/models/qwen2.cpp "${layer}" "        res->t_layer_inp[il] = inpL;\n${layer}")
set(own "extern \"C\" LLAMA_API const char * winnow_layer_inputs(void) {\n    return \"qwen2\";\n}\n")
put(src/models/qwen2.cpp "#include \"models.h\"\n" "#include \"models.h\"\n\n${own}")

# Read by CMake at llama-cpp-python's project(): build only the libraries that the Python package loads, llama and
# ggml's, and not tools, HTTP or multimedia.
set(LLAMA_BUILD_COMMON OFF)
foreach(part APP EXAMPLES MTMD SERVER TESTS TOOLS UI)
  set(LLAMA_BUILD_${part} OFF)
endforeach()
set(LLAVA_BUILD OFF)

# Only multimedia needs it, and it would need an archiver.
function(leave_out)
  set_target_properties(vendor-hash PROPERTIES EXCLUDE_FROM_ALL ON)
endfunction()
cmake_language(DEFER CALL leave_out)

# `winnow doctor` shows how the library was built.
install(FILES ${WINNOW_BUILD_NOTE} DESTINATION ${SKBUILD_PLATLIB_DIR}/llama_cpp/lib)

function(replace_once text old new file)
  string(FIND "${${text}}" "${old}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "${file} has changed: make what ${CMAKE_CURRENT_LIST_DIR} puts into it fit")
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
  file(WRITE ${barrier} "#include \"${CMAKE_CURRENT_LIST_DIR}/wait.h\"\n${source}")
endif()

# few_tokens.h multiplies few tokens with plain weights.
file(READ ${barrier} source)
if(CMAKE_C_COMPILER_ID MATCHES "Clang|GNU" AND NOT source MATCHES WINNOW_FEW_TOKENS)
  set(tiles "    if (ggml_compute_forward_mul_mat_tiled(params, dst)) {")
  replace_once(source "${tiles}"
    "#ifdef WINNOW_FEW_TOKENS\n    if (!winnow_takes(dst))\n#endif\n${tiles}"
    ggml-cpu.c)
  set(larger "    if (nr0 == 1 || nr1 == 1) {")
  replace_once(source "${larger}"
    "#ifdef WINNOW_FEW_TOKENS\n    if (winnow_takes(dst)) {\n        chunk_size = WINNOW_ROWS;\n    }\n#endif\n${larger}"
    ggml-cpu.c)
  string(JOIN "\n" chunk "    // block-tiling attempt" "    const int64_t blck_0 = 16;" "    const int64_t blck_1 = 16;" ""
    "    const size_t src1_col_stride = src1_cont")
  replace_once(source "${chunk}"
    "#ifdef WINNOW_FEW_TOKENS\n    if (winnow_takes(dst)) {\n        winnow_few_tokens(dst, wdata, ir0_start, ir0_end, ir1_start, ir1_end);\n        return;\n    }\n#endif\n${chunk}"
    ggml-cpu.c)
  set(before "#include \"tiled/tiled.h\"\n")
  replace_once(source "${before}" "${before}#include \"${CMAKE_CURRENT_LIST_DIR}/few_tokens.h\"\n" ggml-cpu.c)
  file(WRITE ${barrier} "${source}")
endif()

# few_queries.h has few tokens attend.
set(attention ${ggml_cpu}/ops.cpp)
file(READ ${attention} source)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang|GNU" AND NOT source MATCHES WINNOW_FEW_QUERIES)
  set(before "#include \"vec.h\"\n\n#include <algorithm>\n#include <cfloat>\n#include <cmath>\n")
  replace_once(source "${before}" "${before}\n#include \"${CMAKE_CURRENT_LIST_DIR}/few_queries.h\"\n" ops.cpp)
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
  replace_once(source "${include}" "${include}#include \"${CMAKE_CURRENT_LIST_DIR}/q4_k.h\"\n" arch/x86/repack.cpp)
  string(JOIN ", " parameters "void ggml_gemm_q4_K_8x8_q8_K(int n" "float * GGML_RESTRICT s" "size_t bs"
    "const void * GGML_RESTRICT vx" "const void * GGML_RESTRICT vy" "int nr" "int nc) {\n")
  replace_once(source "${parameters}"
    "${parameters}#ifdef WINNOW_GEMM_Q4_K\n    return winnow_gemm_q4_K(n, s, bs, vx, vy, nr, nc);\n#endif\n"
    arch/x86/repack.cpp)
  file(WRITE ${product} "${source}")
endif()

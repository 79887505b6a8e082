# Read by CMake at llama-cpp-python's project(): build only the libraries that the Python package loads, llama and
# ggml's, and not tools, HTTP or multimedia.
set(LLAMA_BUILD_COMMON OFF)
foreach(part APP EXAMPLES MTMD SERVER TESTS TOOLS UI)
  set(LLAMA_BUILD_${part} OFF)
endforeach()
set(LLAVA_BUILD OFF)

function(leave_out)
  # Only multimedia needs it, and it would need an archiver.
  set_target_properties(vendor-hash PROPERTIES EXCLUDE_FROM_ALL ON)
  # Wheels have no links: each name of a library would be a library of its own, with backends of its own.
  foreach(library llama ggml ggml-base ggml-cpu)
    if(TARGET ${library})
      set_property(TARGET ${library} PROPERTY VERSION)
      set_property(TARGET ${library} PROPERTY SOVERSION)
    endif()
  endforeach()
endfunction()
cmake_language(DEFER CALL leave_out)

# Headers take most of the time, so llama's own files are joined to compile, as those of its models are.
function(join_sources)
  file(GLOB core vendor/llama.cpp/src/*.cpp)
  list(FILTER core EXCLUDE REGEX kv-cache-dsv4)  # a function's name is one of llama-graph.cpp's too
  set_source_files_properties(${core} TARGET_DIRECTORY llama PROPERTIES SKIP_UNITY_BUILD_INCLUSION OFF)
endfunction()
cmake_language(DEFER CALL join_sources)

# zig would compile its C++ library too, file by file. `build.py` names its folder, and leaves it out where it links.
function(add_runtime name)
  add_library(${name} OBJECT ${ARGN})
  list(FILTER ARGN INCLUDE REGEX "/(memory|error_category|[a-z_]+_destructor)\\.cpp$")
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0 CXX_STANDARD 23
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${name} PRIVATE ${cxx}/src ${cxx}/libc ${WINNOW_ZIG}/libcxxabi/include)
  target_compile_definitions(${name} PRIVATE LIBCXX_BUILDING_LIBCXXABI LIBC_NAMESPACE=winnow
    _LIBCPP_BUILDING_LIBRARY _LIBCXXABI_BUILDING_LIBRARY
    _LIBCPP_DISABLE_VISIBILITY_ANNOTATIONS _LIBCXXABI_DISABLE_VISIBILITY_ANNOTATIONS)
  target_compile_options(${name} PRIVATE -w -ffunction-sections -fdata-sections)
endfunction()
if(WINNOW_ZIG)
  set(cxx ${WINNOW_ZIG}/libcxx)
  file(GLOB runtime ${cxx}/src/*.cpp ${cxx}/src/ryu/*.cpp ${WINNOW_ZIG}/libcxxabi/src/*.cpp)
  list(FILTER runtime EXCLUDE REGEX "/(stdlib_new_delete|cxa_noexception)\\.cpp$")  # others have what these have
  add_runtime(runtime ${runtime})
  link_libraries(runtime unwind -Wl,-z,defs)
  # These divide 128 bits. zig's code for that brings its memcpy and expf, slower than glibc's: only ggml has files.
  file(GLOB files ${cxx}/src/filesystem/*.cpp)
  add_runtime(runtime_files ${files})
  cmake_language(DEFER CALL target_link_libraries ggml PRIVATE runtime_files)
endif()

# `winnow doctor` shows how the library was built.
install(FILES ${WINNOW_BUILD_NOTE} DESTINATION ${SKBUILD_PLATLIB_DIR}/llama_cpp/lib)

# Winnow's own code.
execute_process(
  COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/patches.py ${CMAKE_CURRENT_SOURCE_DIR}/vendor/llama.cpp
  RESULT_VARIABLE failed ERROR_VARIABLE why)
if(failed)
  message(FATAL_ERROR "${why}")
endif()

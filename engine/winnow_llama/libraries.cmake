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

# `winnow doctor` shows how the library was built.
install(FILES ${WINNOW_BUILD_NOTE} DESTINATION ${SKBUILD_PLATLIB_DIR}/llama_cpp/lib)

# Winnow's own code.
execute_process(
  COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/patches.py ${CMAKE_CURRENT_SOURCE_DIR}/vendor/llama.cpp
  RESULT_VARIABLE failed ERROR_VARIABLE why)
if(failed)
  message(FATAL_ERROR "${why}")
endif()

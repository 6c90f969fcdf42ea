# What others made. Every target the rest of the build links is named here, and nowhere else.
#   Threads::Threads, traceagent::yaml_cpp_static, traceagent::zlib_static        agent and tools
#   CLI11::CLI11, simdjson::simdjson                                              tools
#   GTest::gtest_main, GTest::gmock, benchmark::benchmark                         tests
#   traceagent::cuda_headers, traceagent::nccl_headers, traceagent::nvtx_headers   headers only
#   TRACEAGENT_NVCC, TRACEAGENT_CUDART_LIBRARY, TRACEAGENT_CUPTI_LIBRARY, TRACEAGENT_NCCL_LIBRARY
# The agent opens NVIDIA's libraries at run time: it links none of them.
set(TRACEAGENT_DEPS "${CMAKE_SOURCE_DIR}/build/deps" CACHE PATH "What packaging/setup fetched")
set(TRACEAGENT_SETUP_HINT "run packaging/setup")

macro(traceagent_package name)
  find_package(${name} QUIET)
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "${name} is missing: ${TRACEAGENT_SETUP_HINT}")
  endif()
endmacro()
find_package(Threads REQUIRED)
traceagent_package(CLI11)
traceagent_package(simdjson)
if(TRACEAGENT_TESTS)
  traceagent_package(GTest)
  traceagent_package(benchmark)
endif()

# Static archives, by file: the agent must NEED libc alone, and the packages' own CMake targets
# prefer the shared objects.
function(traceagent_static_library target archive header)
  find_path(${target}_INCLUDE "${header}")
  find_library(${target}_ARCHIVE "${archive}")
  if(NOT ${target}_INCLUDE OR NOT ${target}_ARCHIVE)
    message(FATAL_ERROR "${archive} or ${header} is missing: ${TRACEAGENT_SETUP_HINT}")
  endif()
  mark_as_advanced(${target}_INCLUDE ${target}_ARCHIVE)
  add_library(traceagent::${target} STATIC IMPORTED GLOBAL)
  set_target_properties(traceagent::${target} PROPERTIES
    IMPORTED_LOCATION "${${target}_ARCHIVE}"
    INTERFACE_INCLUDE_DIRECTORIES "${${target}_INCLUDE}")
endfunction()
traceagent_static_library(yaml_cpp_static libyaml-cpp.a yaml-cpp/yaml.h)
traceagent_static_library(zlib_static libz.a zlib.h)

# The wheels of packaging/setup if they are there, else the toolkit that it found, else, without it,
# CUDA_HOME's or what CMake finds. Never a mixture of two CUDA versions.
set(toolkit_record "${TRACEAGENT_DEPS}/toolkit_root")
if(EXISTS "${TRACEAGENT_DEPS}/cuda/bin/nvcc")
  set(TRACEAGENT_CUDA_ROOT "${TRACEAGENT_DEPS}/cuda")
elseif(EXISTS "${toolkit_record}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${toolkit_record}")
  file(STRINGS "${toolkit_record}" TRACEAGENT_CUDA_ROOT LIMIT_COUNT 1)
else()
  if(NOT DEFINED CUDAToolkit_ROOT AND NOT DEFINED ENV{CUDAToolkit_ROOT} AND DEFINED ENV{CUDA_HOME})
    set(CUDAToolkit_ROOT "$ENV{CUDA_HOME}")
  endif()
  find_package(CUDAToolkit QUIET)
  if(NOT CUDAToolkit_FOUND)
    message(FATAL_ERROR "no CUDA Toolkit: ${TRACEAGENT_SETUP_HINT}")
  endif()
  cmake_path(GET CUDAToolkit_BIN_DIR PARENT_PATH TRACEAGENT_CUDA_ROOT)
endif()

function(traceagent_find kind variable what)
  set(found "${variable}_FOUND_AT")
  unset(${found} CACHE)
  cmake_language(CALL find_${kind} ${found} NAMES ${what} PATHS
    "${TRACEAGENT_CUDA_ROOT}" "${TRACEAGENT_DEPS}/nccl"
    PATH_SUFFIXES bin include lib lib64 extras/CUPTI/include extras/CUPTI/lib64 NO_DEFAULT_PATH)
  cmake_language(CALL find_${kind} ${found} NAMES ${what})
  if(NOT ${found})
    list(GET what 0 first)
    message(FATAL_ERROR "${first} is missing beside ${TRACEAGENT_CUDA_ROOT}: ${TRACEAGENT_SETUP_HINT}")
  endif()
  mark_as_advanced(${found})
  set(${variable} "${${found}}" PARENT_SCOPE)
endfunction()

traceagent_find(program TRACEAGENT_NVCC nvcc)
traceagent_find(path TRACEAGENT_CUDA_INCLUDE cuda_runtime_api.h)
traceagent_find(path TRACEAGENT_CUPTI_INCLUDE cupti.h)
traceagent_find(path TRACEAGENT_NVTX_INCLUDE nvtx3/nvToolsExt.h)
traceagent_find(path TRACEAGENT_NCCL_INCLUDE nccl.h)
traceagent_find(library TRACEAGENT_CUDART_LIBRARY "libcudart.so.13;libcudart.so.12")
traceagent_find(library TRACEAGENT_CUPTI_LIBRARY "libcupti.so.13;libcupti.so.12")
traceagent_find(library TRACEAGENT_NCCL_LIBRARY "libnccl.so.2")

function(traceagent_header_target name)
  add_library(traceagent_${name} INTERFACE)
  target_include_directories(traceagent_${name} SYSTEM INTERFACE ${ARGN})
  add_library(traceagent::${name} ALIAS traceagent_${name})
endfunction()
traceagent_header_target(cuda_headers "${TRACEAGENT_CUDA_INCLUDE}" "${TRACEAGENT_CUPTI_INCLUDE}")
traceagent_header_target(nccl_headers "${TRACEAGENT_NCCL_INCLUDE}" "${TRACEAGENT_CUDA_INCLUDE}")
traceagent_header_target(nvtx_headers "${TRACEAGENT_NVTX_INCLUDE}")

# The simulated GPU and the tests are written against CUDA 13 and NCCL 2.28 and see those headers
# first, in front of an older toolkit's (see tests/CMakeLists.txt).
set(TRACEAGENT_TEST_HEADERS "")
file(STRINGS "${TRACEAGENT_CUDA_INCLUDE}/cuda.h" cuda_13 REGEX "define CUDA_VERSION 1[3-9]")
file(STRINGS "${TRACEAGENT_NCCL_INCLUDE}/nccl.h" nccl_2_28
  REGEX "define NCCL_MINOR (2[89]|[3-9][0-9])")
if(TRACEAGENT_TESTS AND NOT (cuda_13 AND nccl_2_28))
  set(TRACEAGENT_TEST_HEADERS "${TRACEAGENT_DEPS}/test_headers/include")
  if(NOT EXISTS "${TRACEAGENT_TEST_HEADERS}/nccl.h")
    message(WARNING "no simulated GPU, no tests: they need the headers of CUDA 13 and NCCL 2.28: "
      "${TRACEAGENT_SETUP_HINT}")
    set(TRACEAGENT_TESTS OFF)
  endif()
endif()
message(STATUS "CUDA Toolkit ${TRACEAGENT_CUDA_ROOT}, NCCL ${TRACEAGENT_NCCL_LIBRARY}")

# traceagent_library(<folder> SOURCES <files> [DEPENDS <targets>] [PRECOMPILED])
# One folder of the agent = one namespace = one static library `traceagent_<folder>`.
function(traceagent_library folder)
  cmake_parse_arguments(ARG "PRECOMPILED" "" "SOURCES;DEPENDS" ${ARGN})
  set(target traceagent_${folder})
  add_library(${target} STATIC ${ARG_SOURCES})
  target_include_directories(${target} PUBLIC "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}/generated")
  target_link_libraries(${target} PUBLIC traceagent_warnings ${ARG_DEPENDS})
  if(ARG_PRECOMPILED)
    traceagent_precompile(${target})
  endif()
endfunction()

# traceagent_precompile(<target>): what most files include of the standard library is read once, which halves the time that
# a folder takes. Not under the sanitizers: that build shows that each file includes what it uses.
function(traceagent_precompile target)
  if(TRACEAGENT_SANITIZE)
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM traceagent_precompiled)
  # g++ 12 takes precompiled headers for the program's own, and warns of what their insides might do.
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread>)
endfunction()

add_library(traceagent_warnings INTERFACE)
target_compile_options(traceagent_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wconversion;-Werror>)
# GCC 12 sees overlapping copies in std::string where there are none (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(traceagent_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
# Clang builds the fuzzers alone; its own opinions stop nobody.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(traceagent_warnings INTERFACE -Wno-error)
endif()

# None of these begins something when the library is loaded, as <iostream> does.
file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/precompiled.cpp" CONTENT "")
add_library(traceagent_precompiled OBJECT "${CMAKE_CURRENT_BINARY_DIR}/precompiled.cpp")
target_link_libraries(traceagent_precompiled PRIVATE traceagent_warnings)
target_precompile_headers(traceagent_precompiled PRIVATE <algorithm> <array> <atomic> <cerrno> <charconv> <cstdint>
  <cstring> <filesystem> <functional> <map> <memory> <optional> <set> <string> <string_view> <utility> <vector>)

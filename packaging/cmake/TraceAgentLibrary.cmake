# traceagent_library(<folder> SOURCES <files> [DEPENDS <targets>])
# One folder of the agent = one namespace = one static library `traceagent_<folder>`.
function(traceagent_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  set(target traceagent_${folder})
  add_library(${target} STATIC ${ARG_SOURCES})
  target_include_directories(${target} PUBLIC "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}/generated")
  target_link_libraries(${target} PUBLIC traceagent_warnings ${ARG_DEPENDS})
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

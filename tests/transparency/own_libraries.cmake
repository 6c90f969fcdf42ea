# Programs that work with their own zlib, yaml-cpp and libunwind: with this machine's, and with those of other
# Debian releases, as far as packaging/setup --tests could fetch them.
file(STRINGS "${CMAKE_SOURCE_DIR}/packaging/other_libraries.txt" other_releases REGEX "^[a-z]")
list(TRANSFORM other_releases REPLACE " .*" "")
list(REMOVE_DUPLICATES other_releases)
if(TRACEAGENT_SANITIZE)
  message(STATUS "transparency.${other_releases} are left out under the sanitizers: nobody has tried them there")
  set(other_releases "")
endif()

# work_with_own_libraries as a library to open, beside those that it needs; OF: the release, or nothing. With this
# machine's yaml-cpp: the simulated GPU has it loaded for all.
function(traceagent_library_to_open of)
  set(target transparency_own_work${of})
  add_library(${target} SHARED libraries/own_work.cpp)
  target_link_libraries(${target} PRIVATE ${ARGN} yaml-cpp transparency_work)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME own_work
    LIBRARY_OUTPUT_DIRECTORY "${programs_folder}/libraries${of}")
  add_dependencies(transparency_programs ${target})
endfunction()

traceagent_library_to_open("" z unwind)
target_sources(transparency_own_linked_libraries PRIVATE libraries/own_work.cpp)
target_link_libraries(transparency_own_linked_libraries PRIVATE yaml-cpp z unwind)

foreach(release ${other_releases})
  set(folder "${CMAKE_BINARY_DIR}/deps/other_libraries/${release}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}")
  if(NOT EXISTS "${folder}/.setup_libraries_of_${release}")
    message(STATUS "transparency.${release} will be skipped: no libraries of Debian ${release}: packaging/setup --tests fetches them")
    continue()
  endif()
  set(libraries transparency_libraries_of_${release})
  add_library(${libraries} INTERFACE)
  target_include_directories(${libraries} SYSTEM INTERFACE "${folder}/include")
  target_link_libraries(${libraries} INTERFACE "${folder}/lib/libz.so.1" "${folder}/lib/libunwind.so.8")
  traceagent_library_to_open(_${release} ${libraries})
  set(yaml yaml-cpp)
  if(EXISTS "${folder}/yaml-cpp")
    add_library(transparency_yaml_of_${release} INTERFACE)
    file(GLOB yaml "${folder}/yaml-cpp/libyaml-cpp.so.?.?")
    target_include_directories(transparency_yaml_of_${release} SYSTEM INTERFACE "${folder}/yaml-cpp/include")
    target_link_libraries(transparency_yaml_of_${release} INTERFACE ${yaml})
    # That the simulated GPU has another.
    target_link_options(transparency_yaml_of_${release} INTERFACE LINKER:--no-warnings)
    set(yaml transparency_yaml_of_${release})
  endif()
  set(target transparency_own_linked_libraries_${release})
  add_executable(${target} programs/own_linked_libraries.cpp libraries/own_work.cpp)
  target_link_libraries(${target} PRIVATE ${yaml} ${libraries} transparency_work)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME own_linked_libraries_${release} SKIP_BUILD_RPATH ON
    RUNTIME_OUTPUT_DIRECTORY "${programs_folder}")
  add_dependencies(transparency_programs ${target})
endforeach()

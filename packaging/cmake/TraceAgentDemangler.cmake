# The demangler of libstdc++, taken out of its archive: abi::__cxa_demangle() allocates what a hostile
# name asks for, and what can be stopped (__gcclibcxx_demangle_callback) is in no shared libstdc++.
# traceagent_demangler(<variable>): the variable becomes the path of the object file.
function(traceagent_demangler variable)
  execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=libstdc++.a
    OUTPUT_VARIABLE archive OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT IS_ABSOLUTE "${archive}")
    message(FATAL_ERROR "libstdc++.a was not found: install the compiler's libstdc++-dev package")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/demangler")
  file(MAKE_DIRECTORY "${folder}")
  # The public function stays libstdc++'s own, and the other is named apart: the archive's member may be
  # linked too.
  add_custom_command(OUTPUT "${folder}/cp-demangle.o"
    COMMAND "${CMAKE_AR}" x "${archive}" cp-demangle.o
    COMMAND "${CMAKE_OBJCOPY}" --localize-symbol=__cxa_demangle
      --redefine-sym __gcclibcxx_demangle_callback=traceagent_demangle_callback cp-demangle.o
    DEPENDS "${archive}" WORKING_DIRECTORY "${folder}" VERBATIM)
  set_source_files_properties("${folder}/cp-demangle.o"
    PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set(${variable} "${folder}/cp-demangle.o" PARENT_SCOPE)
endfunction()

# The numbers of the API functions, taken from CUPTI's headers as rows {"name", number}.
function(simgpu_cbids header prefix output)
  file(STRINGS "${header}" lines REGEX "${prefix}[A-Za-z0-9_]+ += [0-9]+")
  set(rows "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE ".*${prefix}([A-Za-z0-9_]+) += ([0-9]+).*" "{\"\\1\", \\2},\n" row "${line}")
    if(NOT row MATCHES "\"(INVALID|SIZE|FORCE_INT)\"")
      string(APPEND rows "${row}")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT "${output}" CONTENT "${rows}" @ONLY)
endfunction()

get_filename_component(cupti_include "${SIMGPU_CUPTI_HEADER}" DIRECTORY)
simgpu_cbids("${cupti_include}/cupti_runtime_cbid.h" CUPTI_RUNTIME_TRACE_CBID_
  "${CMAKE_CURRENT_BINARY_DIR}/simgpu_runtime_cbids.inc")
simgpu_cbids("${cupti_include}/cupti_driver_cbid.h" CUPTI_DRIVER_TRACE_CBID_
  "${CMAKE_CURRENT_BINARY_DIR}/simgpu_driver_cbids.inc")

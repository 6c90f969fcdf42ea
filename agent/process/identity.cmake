# Who this process is in its job: a library of its own, below the rest of agent/process, for tools
# and tests that need no more.
add_library(traceagent_identity STATIC
  "${CMAKE_CURRENT_LIST_DIR}/command_at_load.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/identity.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/placement.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/proc_facts.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/proc_file.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/run_name.cpp")
target_include_directories(traceagent_identity PUBLIC "${CMAKE_CURRENT_LIST_DIR}/../..")
target_link_libraries(traceagent_identity PUBLIC traceagent_config traceagent_warnings)

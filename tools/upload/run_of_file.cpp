#include "tools/upload/run_of_file.hpp"

#include "agent/trace/json_scan.hpp"
#include "agent/trace/trace_reader.hpp"

namespace traceagent::tools {

std::string run_of_file(const std::string& path) {
  trace::TraceReader reader;
  if (!reader.open(path)) return {};
  return trace::unescaped(
      trace::string_member(reader.header().distributed_info, "run_key").value_or(""));
}

}  // namespace traceagent::tools

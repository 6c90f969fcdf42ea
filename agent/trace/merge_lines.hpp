#pragma once

#include <cstdint>
#include <string_view>

#include "agent/trace/output_file.hpp"
#include "agent/trace/trace_reader.hpp"

namespace traceagent::trace {

// The lines of a merged file's "traceEvents", spliced from those of its inputs.
class MergedLines {
 public:
  explicit MergedLines(OutputFile& file) : file_(file) {}

  void set_base(std::int64_t base_ns) { base_ns_ = base_ns; }
  void write_metadata_event(std::string_view text);
  // `line`, at `absolute_ns`.
  void write_event(const TraceLine& line, std::int64_t absolute_ns);

 private:
  char* put_separator(char* to);
  void write_long_event(const TraceLine& line, std::int64_t ts_ns);

  OutputFile& file_;
  std::int64_t base_ns_ = 0;
  bool first_ = true;
};

}  // namespace traceagent::trace

#include "tools/damaged_inputs.hpp"

#include <limits>
#include <utility>

#include "agent/trace/trace_reader.hpp"
#include "tools/trace_files.hpp"

namespace traceagent::tools {

namespace {

std::string damage_of(const std::string& file) {
  trace::TraceReader reader;
  if (!reader.open(file)) return reader.problem();
  std::int64_t before_ns = std::numeric_limits<std::int64_t>::min();
  bool is_in_order = true;
  trace::TraceLine line;
  while ((line = reader.next()).kind != trace::TraceLine::Kind::end) {
    if (line.kind != trace::TraceLine::Kind::event) continue;
    is_in_order = is_in_order && line.ts_ns >= before_ns;
    before_ns = line.ts_ns;
  }
  const bool is_damaged = reader.problem().empty() && !is_in_order;
  return is_damaged ? "events not in the order of time: " + file + ": copy the file again"
                    : reader.problem();
}

}  // namespace

std::vector<std::string> damages_of(const std::vector<std::string>& files,
                                    const std::function<void(std::uint64_t)>& on_read) {
  std::vector<std::string> damages;
  for (const std::string& file : files) {
    std::string damage = damage_of(file);
    if (!damage.empty()) damages.push_back(std::move(damage));
    on_read(bytes_of({file}));
  }
  return damages;
}

}  // namespace traceagent::tools

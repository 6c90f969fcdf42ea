#include "tools/import/event_batch.hpp"

#include <optional>

#include "agent/trace/json_scan.hpp"

namespace traceagent::tools {

std::string batch_of(std::string_view event) {
  const auto args = trace::member(event, "args");
  const auto epoch = args ? trace::integer_member(*args, "epoch") : std::nullopt;
  const auto batch = epoch ? trace::integer_member(*args, "batch") : std::nullopt;
  if (!batch) return "";
  return "[" + std::to_string(*epoch) + ", " + std::to_string(*batch) + "]";
}

}  // namespace traceagent::tools

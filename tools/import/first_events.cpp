#include "tools/import/first_events.hpp"

#include <array>
#include <cstdio>
#include <string_view>

#include "agent/event/hash.hpp"
#include "agent/trace/json_scan.hpp"
#include "tools/import/exact_time.hpp"
#include "tools/import/imported_events.hpp"

namespace traceagent::tools {

namespace {

std::string text_of(std::string_view json) {
  const bool is_string = json.size() > 1 && json.front() == '"';
  return is_string ? trace::unescaped(json.substr(1, json.size() - 2)) : std::string(json);
}

}  // namespace

void FirstEvents::add(std::string_view phase, std::string_view name, std::string_view ts) {
  const std::optional<ExactTime> time = are_all() ? std::nullopt : parse_microseconds(ts);
  if (!time) return;
  events_.push_back({time->rounded_ns(), text_of(phase) + " " + text_of(name)});
}

std::string FirstEvents::marks(std::optional<std::int64_t> base_ns) const {
  std::string marks;
  std::string so_far;
  for (const Event& event : events_) {
    const bool is_epoch = event.ns >= EventTimes::epoch_ns;
    if (!is_epoch && !base_ns) break;
    so_far += std::to_string(event.ns + (is_epoch ? 0 : *base_ns)) + " " + event.what + "\n";
    std::array<char, 16> mark{};
    std::snprintf(mark.data(), mark.size(), "%08x",
                  static_cast<std::uint32_t>(event::hash_text(so_far)));
    marks.append(marks.empty() ? "" : " ").append(mark.data());
  }
  return marks;
}

}  // namespace traceagent::tools

#include "tools/clocks/merged_clock.hpp"

#include "agent/trace/json_object.hpp"
#include "agent/trace/json_scan.hpp"

namespace traceagent::tools {

using trace::JsonValue;

std::string MergedClock::text() const {
  trace::JsonObject clock;
  if (has_several) {
    clock.add("of", JsonValue(nullptr));
  } else if (!of.empty()) {
    clock.add("of", of);
  }
  clock.add("bound_ns", bound_ns && !has_several ? JsonValue(*bound_ns) : JsonValue(nullptr));
  if (is_unsure) clock.add("is_unsure", true);
  return clock.text();
}

std::optional<MergedClock> merged_clock(std::string_view text) {
  if (text.empty()) return std::nullopt;
  constexpr std::int64_t most_ns = 1'000'000'000'000'000;
  MergedClock clock;
  clock.has_several = trace::member(text, "of") == "null";
  clock.of = trace::unescaped(trace::string_member(text, "of").value_or(""));
  clock.bound_ns = trace::integer_member(text, "bound_ns");
  if (clock.bound_ns && (*clock.bound_ns < 0 || *clock.bound_ns > most_ns)) clock.bound_ns.reset();
  clock.is_unsure = trace::member(text, "is_unsure") == "true";
  return clock;
}

}  // namespace traceagent::tools

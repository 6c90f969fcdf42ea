#include "agent/trace/left_out_counts.hpp"

#include <algorithm>

#include "agent/trace/json_scan.hpp"

namespace traceagent::trace {

void LeftOutCounts::add(const MergeInput& input, std::string_view metadata) {
  const auto exact = member(metadata, "left_out");
  const auto at_most = member(metadata, "left_out_at_most");
  const bool says_nothing = !input.header.selections.empty() && !exact && !at_most;
  is_unknown_ = is_unknown_ || says_nothing || at_most == "null";
  const auto count = [&](std::string_view name) {
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(integer_member(metadata, name).value_or(0), 0));
  };
  const std::uint64_t clipped = count("clipped");
  const std::uint64_t at_most_clipped = count("clipped_at_most");
  clipped_ += clipped + at_most_clipped;
  // Nobody knows which of them are chosen now.
  is_clipped_exact_ = is_clipped_exact_ && at_most_clipped == 0 && (!is_choosing_ || clipped == 0);
  if (exact) (input.shares_events ? at_most_ : exact_).add(*exact, false);
  if (at_most && *at_most != "null") at_most_.add(*at_most, false);
}

void LeftOutCounts::add_own(const JsonObject& left_out, std::uint64_t clipped) {
  exact_.add(left_out.text(), true);
  is_choosing_ = true;
  clipped_ += clipped;
}

JsonObject LeftOutCounts::members() const {
  JsonObject members;
  if (exact_.is_any()) members.add("left_out", exact_.object());
  if (is_unknown_) {
    members.add("left_out_at_most", nullptr);
  } else if (at_most_.is_any()) {
    members.add("left_out_at_most", at_most_.object());
  }
  if (clipped_ > 0) members.add(is_clipped_exact_ ? "clipped" : "clipped_at_most", clipped_);
  return members;
}

void LeftOutCounts::Sum::add(std::string_view counts, bool with_ranks) {
  is_any_ = true;
  for_each_member(counts, [&](std::string_view cause, std::string_view count) {
    if (cause == "rank" && !with_ranks) return;
    const auto number =
        static_cast<std::uint64_t>(std::max<std::int64_t>(parse_integer(count).value_or(0), 0));
    const auto known = std::ranges::find(
        counts_, cause, [](const auto& each) { return std::string_view(each.first); });
    if (known == counts_.end()) {
      counts_.emplace_back(cause, number);
    } else {
      known->second += number;
    }
  });
}

JsonObject LeftOutCounts::Sum::object() const {
  JsonObject object;
  for (const auto& [cause, count] : counts_) object.add(cause, count);
  return object;
}

}  // namespace traceagent::trace

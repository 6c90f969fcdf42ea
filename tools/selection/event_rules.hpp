#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/selection/time_window.hpp"

namespace traceagent::tools {

// What is wanted of a trace; as it stands here, all.
struct EventRules {
  TimeWindow window;
  bool clip = false;                                              // cut at the window's edges
  std::vector<std::pair<std::int64_t, std::int64_t>> ranks = {};  // first and last; none: all
  std::vector<std::string> categories = {};                       // category_in_json(); none: all

  [[nodiscard]] bool has_rank(std::int64_t rank) const;
  // `category` is an event's own, as it stands there: one, or several with commas between.
  [[nodiscard]] bool has_category(std::string_view category) const;
  [[nodiscard]] bool looks_into_ranks() const {
    return !window.is_everything() || !categories.empty();
  }
};

// Why an event is not in the merge.
enum class Verdict : std::uint8_t {
  keep,
  time,      // outside the window
  category,  // none that was asked for
  unpaired,  // an end of an arrow or of a slice whose other end is not in the merge
  rank,      // none that was asked for
};

// Calls visit for what is between the commas.
template <typename Visit>
void for_each_part(std::string_view list, Visit visit) {
  while (true) {
    const std::size_t comma = list.find(',');
    visit(list.substr(0, comma));
    if (comma == std::string_view::npos) {
      return;
    }
    list.remove_prefix(comma + 1);
  }
}

// As our own files have it between quotes.
std::string category_in_json(std::string_view text);
// The same of what an event has, where others escape more than they need to, and may have spaces
// around commas. `room` is used where it is not there as it stands.
std::string_view normal_category(std::string_view part, std::string& room);

// Calls visit for each of an event's categories, as category_in_json() gives them.
template <typename Visit>
void for_each_category(std::string_view category, Visit visit) {
  std::string room;
  for_each_part(category, [&](std::string_view part) { visit(normal_category(part, room)); });
}

// "0,3-7". Empty when it is none.
std::vector<std::pair<std::int64_t, std::int64_t>> parse_ranks(std::string_view list);

}  // namespace traceagent::tools

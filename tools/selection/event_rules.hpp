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
  std::vector<std::string> categories = {};  // as JSON writes them between quotes; none: all

  [[nodiscard]] bool has_rank(std::int64_t rank) const;
  // `category` is an event's own: one, or several with commas between.
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

// "0,3-7". Empty when it is none.
std::vector<std::pair<std::int64_t, std::int64_t>> parse_ranks(std::string_view list);

}  // namespace traceagent::tools

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace traceagent::tools {

// What a merge of several clocks tells the next merge of its times: "clock" in "distributedInfo".
struct MergedClock {
  bool has_several = false;  // it left clocks apart, and nobody knows how far
  std::string of = {};       // else ClockNode's clock, to which it took all; or empty
  std::optional<std::int64_t> bound_ns = {};  // how far off they may be there; nothing: not known
  bool is_unsure = false;                     // but for times that it told as unsure, or as steps

  // {"of": "rank 0", "bound_ns": 104041, "is_unsure": true}; "of" is null where there are several.
  [[nodiscard]] std::string text() const;
};

// Nothing where the text is empty.
std::optional<MergedClock> merged_clock(std::string_view text);

}  // namespace traceagent::tools

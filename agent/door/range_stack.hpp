#pragma once
// The open NVTX ranges: pushed ones per thread, started ones per process.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/event/record.hpp"

namespace traceagent::door {

struct OpenRange {
  event::Record* record;  // null: not recorded when it began
  const void* domain;
  std::uint32_t name_length;
  char name[44];  // cut; step detection compares names of steps, which are short

  std::string_view name_text() const noexcept { return {name, name_length}; }
  void set_name(std::string_view text) noexcept;
};

// Pushes and pops are followed in every mode: a pop must not close a range that was recorded when
// its own push was not.
class RangeStack {
 public:
  // This thread's stack, nullptr when there is no memory for it.
  static RangeStack* of_this_thread() noexcept;

  // nullptr when it is deeper than we follow; the matching pop is then ignored too.
  OpenRange* push(const void* domain) noexcept;
  // The innermost open range of the domain; nullptr when there is none (it began before us).
  bool pop(const void* domain, OpenRange& popped) noexcept;

 private:
  static constexpr std::size_t deepest = 62;
  std::size_t depth_ = 0;
  std::size_t unfollowed_ = 0;  // pushed beyond `deepest`
  OpenRange ranges_[deepest];
};
static_assert(sizeof(RangeStack) <= 4096);

// nvtxRangeStart: any thread may end it. The id is never 0; 0 means "not followed".
std::uint64_t start_range(const OpenRange& range) noexcept;
bool end_range(std::uint64_t id, OpenRange& ended) noexcept;

}  // namespace traceagent::door

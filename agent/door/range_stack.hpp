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
  std::uint64_t begin_ticks;  // of the record
  std::uint32_t generation;   // of the ring that the record is in
  std::uint32_t name_length;
  char name[96];  // cut; step detection compares names of steps, which are short

  std::string_view name_text() const noexcept { return {name, name_length}; }
  void set_name(std::string_view text) noexcept;
  void set_record(event::Record* claimed, std::uint64_t ticks) noexcept;
  // The record, if it still is this range's: in a forked child it is the parent's, and a range that
  // was open while the flight recorder went round has lost its place to another.
  event::Record* own_record() const noexcept;
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
  // The next pop is of a push that was deeper than we follow.
  bool is_too_deep() const noexcept { return unfollowed_ > 0; }

 private:
  static constexpr std::size_t deepest = 63;
  std::size_t depth_ = 0;
  std::size_t unfollowed_ = 0;  // pushed beyond `deepest`
  OpenRange ranges_[deepest];
};
static_assert(sizeof(RangeStack) <= 8192);

// nvtxRangeStart: any thread may end it. The id is never 0; 0 means "not followed".
std::uint64_t start_range(const OpenRange& range) noexcept;
bool end_range(std::uint64_t id, OpenRange& ended) noexcept;

}  // namespace traceagent::door

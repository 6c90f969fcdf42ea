#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace traceagent::drain {

// From CUPTI's correlation ids to indices, by open addressing. CUPTI counts ids up: eight
// neighbours share a cache line, whose place is hashed. At least twice the room of what is added.
class CorrelationTable {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  explicit CorrelationTable(std::size_t most_entries)
      : slots_(std::bit_ceil(most_entries * 2 + 8)), mask_(slots_.size() - 1) {}

  // The first one added under an id stays. At most `most_entries` may be added.
  void add(std::uint32_t correlation, std::uint32_t index) {
    for (std::size_t at = place_of(correlation);; at = (at + 1) & mask_) {
      if (slots_[at].index == none) slots_[at] = {correlation, index};
      if (slots_[at].correlation == correlation) return;
    }
  }
  std::uint32_t find(std::uint32_t correlation) const {
    for (std::size_t at = place_of(correlation); slots_[at].index != none; at = (at + 1) & mask_) {
      if (slots_[at].correlation == correlation) return slots_[at].index;
    }
    return none;
  }

 private:
  struct Slot {
    std::uint32_t correlation = 0;
    std::uint32_t index = none;
  };
  std::size_t place_of(std::uint32_t correlation) const noexcept {
    const std::uint64_t line = (correlation >> 3) * std::uint64_t{0x9e3779b97f4a7c15};
    return ((line >> 32) * 8 + (correlation & 7)) & mask_;
  }
  std::vector<Slot> slots_;
  std::size_t mask_;
};

}  // namespace traceagent::drain

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/selection/event_rules.hpp"

namespace traceagent::tools {

// A verdict for each of many events, in two bits: all but Verdict::rank.
class Verdicts {
 public:
  std::size_t add(Verdict verdict) {
    if (size_ % per_word == 0) {
      words_.push_back(0);
    }
    set(size_++, verdict);
    return size_ - 1;
  }
  void set(std::size_t index, Verdict verdict) {
    const unsigned shift = static_cast<unsigned>(index % per_word) * 2;
    std::uint64_t& word = words_[index / per_word];
    word = (word & ~(std::uint64_t{3} << shift)) | static_cast<std::uint64_t>(verdict) << shift;
  }
  // Past the end: unpaired. The file would have changed while it is read.
  [[nodiscard]] Verdict at(std::size_t index) const {
    return index >= size_
               ? Verdict::unpaired
               : static_cast<Verdict>(
                     words_[index / per_word] >> static_cast<unsigned>(index % per_word) * 2 & 3U);
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t memory_bytes() const { return words_.capacity() * 8; }

 private:
  static constexpr std::size_t per_word = 32;
  std::vector<std::uint64_t> words_;
  std::size_t size_ = 0;
};

}  // namespace traceagent::tools

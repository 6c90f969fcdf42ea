#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/selection/event_rules.hpp"

namespace traceagent::tools {

// A verdict for each of many events of some inputs, in two bits: all but Verdict::rank.
class Verdicts {
 public:
  explicit Verdicts(std::size_t inputs = 1) : lists_(inputs) {}

  // Of the input's next event; gives the place to set() it at.
  std::size_t add(Verdict verdict, std::size_t input = 0) {
    List& list = lists_[input];
    if (list.size % per_word == 0) {
      list.words.push_back(0);
    }
    const std::size_t place = list.size++ * lists_.size() + input;
    set(place, verdict);
    return place;
  }
  void set(std::size_t place, Verdict verdict) {
    const std::size_t index = place / lists_.size();
    const unsigned shift = static_cast<unsigned>(index % per_word) * 2;
    std::uint64_t& word = lists_[place % lists_.size()].words[index / per_word];
    word = (word & ~(std::uint64_t{3} << shift)) | static_cast<std::uint64_t>(verdict) << shift;
  }
  // Past the end: unpaired. The file would have changed while it is read.
  [[nodiscard]] Verdict at(std::size_t index, std::size_t input = 0) const {
    const List& list = lists_[input];
    return index >= list.size
               ? Verdict::unpaired
               : static_cast<Verdict>(list.words[index / per_word] >>
                                          static_cast<unsigned>(index % per_word) * 2 &
                                      3U);
  }
  [[nodiscard]] std::size_t memory_bytes(std::size_t input = 0) const {
    return lists_[input].words.capacity() * 8;
  }

 private:
  static constexpr std::size_t per_word = 32;
  struct List {
    std::vector<std::uint64_t> words;
    std::size_t size = 0;
  };
  std::vector<List> lists_;
};

}  // namespace traceagent::tools

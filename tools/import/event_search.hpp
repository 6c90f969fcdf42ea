#pragma once

#include <cstdint>
#include <string_view>

#include "tools/import/object_scan.hpp"
#include "tools/import/text_window.hpp"

namespace traceagent::tools {

bool has_member(const ScannedObject& object, std::string_view key);

// Looks for the next event in damaged text, wherever in the document that is, and counts what that
// costs: much of the text may be looked at many times.
class EventSearch {
 public:
  static constexpr std::size_t most_event_bytes = std::size_t{1} << 20;

  explicit EventSearch(TextWindow& window) : window_(window) {}

  // The window begins with it, then: true. No farther than to `array_end`, which is in the window:
  // there the list of events ends, and the window begins with that, likewise true.
  // False: the text ends, or see has_given_up().
  bool find(std::uint64_t array_end = UINT64_MAX);
  // So much was looked at that the search is over.
  [[nodiscard]] bool has_given_up() const { return has_given_up_; }

  // What was looked at in vain by others, too.
  void spend(std::size_t bytes);
  [[nodiscard]] std::size_t work_bytes() const { return work_bytes_; }
  // Of the text, as much is to be judged at once: as an event of the usual kind has.
  [[nodiscard]] std::size_t usual_room() const { return usual_room_; }
  [[nodiscard]] Within within() const;

  // Where the zeros end that it has passed.
  [[nodiscard]] std::uint64_t zeros_end() const { return zeros_end_; }
  void begin_zeros(std::uint64_t offset) { zeros_end_ = offset + 1; }

 private:
  void note_zeros(const char* end);

  TextWindow& window_;
  std::size_t work_bytes_ = 0;
  std::size_t usual_room_ = SIZE_MAX;
  std::uint64_t zeros_end_ = 0;
  bool has_given_up_ = false;
};

}  // namespace traceagent::tools

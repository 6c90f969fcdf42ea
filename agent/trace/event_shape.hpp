#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/trace/byte_scan.hpp"
#include "agent/trace/json_syntax.hpp"

namespace traceagent::trace {

// The text of one JSON object, with gaps where its numbers and texts stood. What fits into it (its
// gaps filled with other numbers and plain texts) is JSON as that was, with the same members.
class EventShape {
 public:
  static constexpr std::size_t most_bytes = 768;
  static constexpr std::size_t most_gaps = 63;  // a bit of changed_ each, and shifts stay within
  static constexpr std::size_t most_members = 24;

  // Of a whole object with its members, as whole_object_at() gives them. False: it is more than a
  // shape holds; then nothing fits into this one, or what did before. `form`: JsonMembers::form().
  bool learn(std::string_view object, const JsonMembers& members, std::uint64_t form = 0);

  // The bytes of the object that `text` begins with, whatever follows it; 0: it does not fit. That
  // says nothing of whether it is JSON.
  [[nodiscard]] std::size_t size_in(std::string_view text);
  // Those of the text that size_in() was asked of last, and that fits; until it is asked again.
  void set_members(const char* text, JsonMembers& members) const {
    members.set({text, members_.data(), moved_.data()}, member_count_, form_);
  }

 private:
  struct Gap {
    std::uint16_t begin;
    std::uint16_t end;
    bool is_text;
    std::size_t latest_bytes;  // that filled it

    [[nodiscard]] std::size_t learned_bytes() const { return std::size_t{end} - begin; }
  };

  bool add_gap(const char* begin, const char* end, bool is_text);
  bool find_gaps(std::string_view object);
  // The gap in which `at` is the first that differs from the learned text behind `known`; no_gap:
  // it differs elsewhere, or ends.
  [[nodiscard]] std::size_t find_other_gap(const char* at, const char* end,
                                           std::size_t known) const;
  void fill_gap(std::size_t index, std::size_t bytes);
  void fill_as_learned(std::uint64_t gaps);
  [[nodiscard]] PlacedMembers::Place place_of(const char* at, const char* object) const;

  static constexpr std::uint8_t no_gap = most_gaps + 1;
  // As often other_gap_ is gathered anew: what seldom differs need not be looked at each time.
  static constexpr unsigned guessed_texts = 64;

  std::array<char, most_bytes + scan_bytes> text_;
  // By offset in the text: the gap there, or that ends there.
  std::array<std::uint8_t, most_bytes + 1> gap_at_;
  std::array<Gap, most_gaps + 1> gaps_;  // behind the last the end of the text
  // Behind so many gaps: the first that lately was filled otherwise than in the learned text.
  std::array<std::uint8_t, most_gaps + 1> other_gap_;
  std::array<PlacedMembers::Member, most_members> members_;
  // By how many bytes what is behind so many gaps is moved in the text that was asked of last:
  // always what the latest_bytes of these come to, which seldom change.
  std::array<std::ptrdiff_t, most_gaps + 1> moved_;
  std::uint64_t changed_ = 0;  // a bit for each gap whose latest_bytes are not the learned ones
  unsigned texts_ = 0;         // so many were asked of
  std::size_t size_ = 0;
  std::size_t gap_count_ = 0;
  std::size_t member_count_ = 0;
  std::uint64_t form_ = 0;
};

}  // namespace traceagent::trace

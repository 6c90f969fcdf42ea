#include "agent/trace/event_shape.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "agent/trace/byte_scan.hpp"

namespace traceagent::trace {

namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool is_of_number(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

// A number of the usual kind, which json_syntax.cpp need not look at twice: of less than 19 digits
// before its point, without exponent. Null: it is none. What stands behind it is the caller's to
// compare: no shape goes on behind a number with what would be a part of it.
[[gnu::always_inline]] inline const char* after_number(const char* at, const char* end) {
  at += at != end && *at == '-' ? 1 : 0;
  const char* const first = at;
  at = after_digits(first, end);
  const auto digits = at - first;
  if (digits == 0 || digits > 18 || (digits > 1 && *first == '0')) {
    return nullptr;
  }
  if (at == end || *at != '.') {
    return at;
  }
  const char* const behind = after_digits(at + 1, end);
  return behind != at + 1 ? behind : nullptr;
}

// The quote that ends the text which begins, with its quote, at `at`: of JSON, so there is one.
const char* end_of_text(const char* at) {
  for (++at; *at != '"'; ++at) {
    at += *at == '\\' ? 1 : 0;
  }
  return at;
}

}  // namespace

bool EventShape::add_gap(const char* begin, const char* end, bool is_text) {
  if (gap_count_ == most_gaps) {
    return false;
  }
  // A number that goes on where the learned one ended differs behind that.
  std::fill(&gap_at_[static_cast<std::size_t>(begin - text_.data())],
            &gap_at_[static_cast<std::size_t>(end - text_.data()) + 1],
            static_cast<std::uint8_t>(gap_count_));
  gaps_[gap_count_++] = {static_cast<std::uint16_t>(begin - text_.data()),
                         static_cast<std::uint16_t>(end - text_.data()), is_text,
                         static_cast<std::size_t>(end - begin)};
  return true;
}

// Of text that is JSON: its last byte is a brace.
bool EventShape::find_gaps(std::string_view object) {
  const char* at = text_.data();
  const char* const end = at + object.size();
  while (at != end) {
    if ((*at >= '0' && *at <= '9') || *at == '-') {
      const char* const number = at;
      while (is_of_number(*at)) {
        ++at;
      }
      if (!add_gap(number, at, false)) {
        return false;
      }
      continue;
    }
    if (*at == '"') {
      const char* const text = at + 1;
      at = end_of_text(at);
      const char* behind = at + 1;
      while (is_space(*behind)) {
        ++behind;
      }
      // Keys stay, and so do texts of one letter: each phase comes with members of its own.
      if (*behind != ':' && at - text > 1 && !add_gap(text, at, true)) {
        return false;
      }
    }
    ++at;
  }
  return true;
}

PlacedMembers::Place EventShape::place_of(const char* at, const char* object) const {
  const auto offset = static_cast<std::uint16_t>(at - object);
  std::uint16_t gaps = 0;
  while (gaps < gap_count_ && gaps_[gaps].end <= offset) {
    ++gaps;
  }
  return {offset, gaps};
}

bool EventShape::learn(std::string_view object, const JsonMembers& members, std::uint64_t form) {
  if (object.size() > most_bytes || members.size() > most_members) {
    return false;
  }
  size_ = gap_count_ = member_count_ = 0;
  gap_at_.fill(no_gap);
  std::memcpy(text_.data(), object.data(), object.size());
  // same_bytes() looks at what lies behind, whatever it is: at something that was set.
  std::memset(text_.data() + object.size(), 0, scan_bytes);
  if (!find_gaps(object)) {
    gap_count_ = 0;
    return false;
  }
  for (const JsonMember& member : members) {
    const auto place = [&](const char* at) { return place_of(at, object.data()); };
    members_[member_count_++] = {
        place(member.key.data()), static_cast<std::uint16_t>(member.key.size()),
        static_cast<std::uint16_t>(member.value.data() - member.key.data()),
        place(member.value.data() + member.value.size())};
  }
  gaps_[gap_count_] = {static_cast<std::uint16_t>(object.size()),
                       static_cast<std::uint16_t>(object.size()), false, 0};
  other_gap_.fill(static_cast<std::uint8_t>(gap_count_));
  moved_.fill(0);
  changed_ = 0;
  size_ = object.size();
  form_ = form;
  return true;
}

std::size_t EventShape::find_other_gap(const char* at, const char* end, std::size_t known) const {
  const auto room = static_cast<std::size_t>(end - at);
  const std::size_t same = same_bytes(at, room, text_.data() + known, size_ - known);
  return same == room ? no_gap : gap_at_[known + same];
}

void EventShape::fill_gap(std::size_t index, std::size_t bytes) {
  Gap& gap = gaps_[index];
  const auto longer =
      static_cast<std::ptrdiff_t>(bytes) - static_cast<std::ptrdiff_t>(gap.latest_bytes);
  for (std::size_t i = index + 1; i <= gap_count_; ++i) moved_[i] += longer;
  gap.latest_bytes = bytes;
  const std::uint64_t bit = std::uint64_t{1} << index;
  changed_ = bytes == gap.learned_bytes() ? changed_ & ~bit : changed_ | bit;
}

void EventShape::fill_as_learned(std::uint64_t gaps) {
  for (; gaps != 0; gaps &= gaps - 1) {
    const auto index = static_cast<std::size_t>(std::countr_zero(gaps));
    fill_gap(index, gaps_[index].learned_bytes());
  }
}

// What is the same as in the learned text is JSON as that is, whatever it is. So only the gaps are
// looked at which are filled otherwise: a third of them, and mostly those that were before.
std::size_t EventShape::size_in(std::string_view text) {
  if (size_ == 0) {
    return 0;
  }
  if (++texts_ % guessed_texts == 0) {
    other_gap_.fill(static_cast<std::uint8_t>(gap_count_));
  }
  const char* at = text.data();
  const char* const end = at + text.size();
  std::size_t known = 0;  // up to here the learned text was compared
  std::size_t gaps = 0;   // so many lie before that
  while (true) {
    std::size_t index = other_gap_[gaps];
    if (!begins_with(at, end, text_.data() + known, gaps_[index].begin - known)) [[unlikely]] {
      index = find_other_gap(at, end, known);
      if (index < gaps || index == no_gap) {
        return 0;
      }
      other_gap_[gaps] = static_cast<std::uint8_t>(index);
    }
    // Those from `gaps` on and before `index`.
    const std::uint64_t between = ((std::uint64_t{1} << (index - gaps)) - 1) << gaps;
    const std::uint64_t same = changed_ & between;
    if (same != 0) [[unlikely]] {
      fill_as_learned(same);
    }
    const Gap& gap = gaps_[index];
    at += gap.begin - known;
    if (index == gap_count_) {
      return static_cast<std::size_t>(at - text.data());
    }
    const char* const behind = gap.is_text ? after_plain(at, end) : after_number(at, end);
    if (behind == nullptr) {
      return 0;
    }
    std::size_t bytes = gap.latest_bytes;
    if (at + bytes == behind) [[likely]] {
      // As long as the one before: the processor guesses so, and looks at what follows meanwhile.
      // Compilers must not see that the two are one, else all waits for `behind`.
      asm("" : "+r"(bytes));
    } else {
      bytes = static_cast<std::size_t>(behind - at);
      fill_gap(index, bytes);
    }
    at += bytes;
    known = gap.end;
    gaps = index + 1;
  }
}

}  // namespace traceagent::trace

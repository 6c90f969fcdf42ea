#include "tools/selection/time_words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include "config/units.hpp"

namespace traceagent::tools {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t most_us = INT64_MAX / 1000 - 1;

// Takes pieces from the front of a text.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}

  bool take(char c) {
    const bool is_there = !rest_.empty() && rest_.front() == c;
    rest_.remove_prefix(is_there ? 1 : 0);
    return is_there;
  }
  // A whole number of at least `least` and at most `most` digits.
  bool take_number(std::size_t least, std::size_t most, std::int64_t& number) {
    const std::size_t digits =
        std::min({rest_.find_first_not_of("0123456789"), rest_.size(), std::size_t{18}});
    if (digits < least || digits > most) {
      return false;
    }
    std::from_chars(rest_.data(), rest_.data() + digits, number);
    rest_.remove_prefix(digits);
    return true;
  }
  // ".25" as nanoseconds of a second, or nothing at all.
  bool take_fraction(std::int64_t& ns) {
    ns = 0;
    if (!take('.')) {
      return true;
    }
    const std::size_t before = rest_.size();
    if (!take_number(1, 9, ns)) {
      return false;
    }
    for (std::size_t digits = before - rest_.size(); digits < 9; ++digits) {
      ns *= 10;
    }
    return true;
  }
  [[nodiscard]] bool empty() const { return rest_.empty(); }
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// "14:03" and "14:03:05.2", as nanoseconds since midnight.
bool take_time_of_day(Words& words, std::int64_t& ns) {
  std::int64_t hours = 0;
  std::int64_t minutes = 0;
  std::int64_t seconds = 0;
  std::int64_t fraction = 0;
  if (!words.take_number(1, 2, hours) || !words.take(':') || !words.take_number(2, 2, minutes)) {
    return false;
  }
  if (words.take(':') && !(words.take_number(2, 2, seconds) && words.take_fraction(fraction))) {
    return false;
  }
  ns = ((hours * 60 + minutes) * 60 + seconds) * second_ns + fraction;
  return hours < 24 && minutes < 60 && seconds < 61;
}

// "Z", "+02:00" or "-0530"; `is_there` is false where nothing stands.
bool take_zone(Words& words, bool& is_there, std::int64_t& offset_s) {
  is_there = !words.empty();
  if (!is_there || words.take('Z')) {
    return true;
  }
  const bool is_west = words.take('-');
  std::int64_t hours = 0;
  std::int64_t minutes = 0;
  if ((!is_west && !words.take('+')) || words.rest().size() < 2) {
    return false;
  }
  Words first(words.rest().substr(0, 2));
  words = Words(words.rest().substr(2));
  if (!first.take_number(2, 2, hours)) {
    return false;
  }
  words.take(':');
  if (!words.empty() && !words.take_number(2, 2, minutes)) {
    return false;
  }
  offset_s = (hours * 60 + minutes) * 60 * (is_west ? -1 : 1);
  return hours <= 23 && minutes <= 59;
}

// Whether the calendar has it: mktime takes 31 April as 1 May.
bool is_day(std::tm date) {
  const int day = date.tm_mday;
  return timegm(&date) != -1 && date.tm_mday == day;
}

std::optional<TimeWord> parse_date_time(std::string_view text) {
  Words words(text);
  std::int64_t year = 0;
  std::int64_t month = 0;
  std::int64_t day = 0;
  std::int64_t ns = 0;
  bool has_zone = false;
  std::int64_t offset_s = 0;
  if (!words.take_number(4, 4, year) || !words.take('-') || !words.take_number(2, 2, month) ||
      !words.take('-') || !words.take_number(2, 2, day)) {
    return std::nullopt;
  }
  const bool is_day_alone = words.empty();
  if (!is_day_alone && ((!words.take('T') && !words.take(' ')) || !take_time_of_day(words, ns) ||
                        !take_zone(words, has_zone, offset_s))) {
    return std::nullopt;
  }
  if (!words.empty() || month < 1 || month > 12 || day < 1 || day > 31 || year < 1970 ||
      year > 2200) {
    return std::nullopt;
  }
  std::tm date{};
  date.tm_year = static_cast<int>(year - 1900);
  date.tm_mon = static_cast<int>(month - 1);
  date.tm_mday = static_cast<int>(day);
  if (!is_day(date)) {
    return std::nullopt;
  }
  const std::int64_t seconds = ns / second_ns;
  date.tm_hour = static_cast<int>(seconds / 3600);
  date.tm_min = static_cast<int>(seconds / 60 % 60);
  date.tm_sec = static_cast<int>(seconds % 60);
  date.tm_isdst = -1;
  const std::int64_t since = has_zone ? timegm(&date) - offset_s : mktime(&date);
  return TimeWord{TimeWord::Kind::absolute, since * second_ns + ns % second_ns};
}

std::optional<TimeWord> parse_microseconds(std::string_view text) {
  Words words(text);
  std::int64_t whole = 0;
  std::int64_t fraction = 0;  // in billionths
  if (!words.take_number(1, 18, whole) || !words.take_fraction(fraction) || !words.empty() ||
      whole > most_us) {
    return std::nullopt;
  }
  return TimeWord{TimeWord::Kind::absolute, whole * 1000 + fraction / 1'000'000};
}

std::optional<TimeWord> parse_relative(std::string_view text) {
  const config::Quantity span = config::parse_duration(text.substr(1));
  if (!span.problem.empty() || span.value > static_cast<std::uint64_t>(INT64_MAX / 4)) {
    return std::nullopt;
  }
  const bool is_after = text.front() == '+';
  return TimeWord{is_after ? TimeWord::Kind::after_begin : TimeWord::Kind::before_end,
                  static_cast<std::int64_t>(span.value)};
}

// As clocks show it, on days on which they are changed too.
std::int64_t time_of_day(std::int64_t since_midnight_ns, std::int64_t on_day_of_ns,
                         int days_later) {
  const std::time_t day = on_day_of_ns / second_ns;
  const std::int64_t seconds = since_midnight_ns / second_ns;
  std::tm date{};
  localtime_r(&day, &date);
  date.tm_hour = static_cast<int>(seconds / 3600);
  date.tm_min = static_cast<int>(seconds / 60 % 60);
  date.tm_sec = static_cast<int>(seconds % 60);
  date.tm_mday += days_later;
  date.tm_isdst = -1;
  return mktime(&date) * second_ns + since_midnight_ns % second_ns;
}

std::int64_t nearest_time_of_day(std::int64_t since_midnight_ns, std::int64_t to_ns) {
  std::int64_t nearest = time_of_day(since_midnight_ns, to_ns, 0);
  for (const int days : {-1, 1}) {
    const std::int64_t other = time_of_day(since_midnight_ns, to_ns, days);
    if (std::abs(other - to_ns) < std::abs(nearest - to_ns)) {
      nearest = other;
    }
  }
  return nearest;
}

std::int64_t first_time_of_day(std::int64_t since_midnight_ns, std::int64_t from_ns) {
  const std::int64_t same_day = time_of_day(since_midnight_ns, from_ns, 0);
  return same_day >= from_ns ? same_day : time_of_day(since_midnight_ns, from_ns, 1);
}

}  // namespace

std::optional<TimeWord> parse_time(std::string_view word) {
  if (word == "begin") {
    return TimeWord{TimeWord::Kind::after_begin, 0};
  }
  if (word == "end") {
    return TimeWord{TimeWord::Kind::before_end, 0};
  }
  if (word.starts_with('+') || word.starts_with('-')) {
    return parse_relative(word);
  }
  if (word.find(':') == std::string_view::npos && word.find('-') == std::string_view::npos) {
    return parse_microseconds(word);
  }
  Words words(word);
  TimeWord time{TimeWord::Kind::time_of_day, 0};
  if (take_time_of_day(words, time.ns) && words.empty()) {
    return time;
  }
  return parse_date_time(word);
}

std::int64_t resolve(const TimeWord& word, std::int64_t begin_ns, std::int64_t end_ns,
                     std::optional<std::int64_t> from_ns) {
  switch (word.kind) {
    case TimeWord::Kind::after_begin:
      return begin_ns + word.ns;
    case TimeWord::Kind::before_end:
      return end_ns - word.ns;
    case TimeWord::Kind::time_of_day: {
      const std::int64_t first =
          first_time_of_day(word.ns, std::max(from_ns.value_or(begin_ns), begin_ns));
      return first <= end_ns ? first : nearest_time_of_day(word.ns, from_ns.value_or(begin_ns));
    }
    default:
      return word.ns;
  }
}

std::string time_in_words(std::int64_t ns) {
  const std::time_t seconds = ns / second_ns - (ns % second_ns < 0 ? 1 : 0);
  std::tm date{};
  localtime_r(&seconds, &date);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &date);
  const std::string fraction = std::to_string(ns - seconds * second_ns + second_ns);
  return std::string(text.data(), size) + "." + fraction.substr(1);
}

}  // namespace traceagent::tools

#include "tools/import/rank_in_name.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "agent/trace/process_ids.hpp"
#include "tools/import/foreign_ids.hpp"

namespace traceagent::tools {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

std::optional<std::int64_t> digits_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  std::int64_t rank = -1;
  const bool is_rank = end - at <= 6 && whole_number(text.substr(at, end - at), rank) &&
                       rank >= 0 && rank < trace::pids_of_claim;
  return is_rank ? std::optional(rank) : std::nullopt;
}

std::optional<std::int64_t> after_word(std::string_view name, std::string_view word,
                                       bool may_end_another) {
  for (std::size_t at = name.rfind(word); at != std::string_view::npos && at < name.size();
       at = at == 0 ? std::string_view::npos : name.rfind(word, at - 1)) {
    if (!may_end_another && at > 0 && is_letter(name[at - 1])) continue;
    std::size_t digits = at + word.size();
    if (digits < name.size() && (name[digits] == '-' || name[digits] == '_')) ++digits;
    if (const auto rank = digits_at(name, digits)) return rank;
  }
  return std::nullopt;
}

// What others number their files by: of one process these are no ranks, and a node has several.
constexpr std::array<std::string_view, 9> ends_of_counters = {
    "step", "epoch", "batch", "cycle", "iter", "iteration", "window", "node", "host"};
constexpr std::array<std::string_view, 8> counters = {"ep",   "ba",   "it",     "pid",
                                                      "time", "date", "sample", "token"};

bool is_counter(std::string_view word) {
  const auto is_end = [word](std::string_view end) { return word.ends_with(end); };
  return std::any_of(ends_of_counters.begin(), ends_of_counters.end(), is_end) ||
         std::find(counters.begin(), counters.end(), word) != counters.end();
}

bool is_counter_or_several(std::string_view word) {
  return is_counter(word) || (word.ends_with('s') && is_counter(word.substr(0, word.size() - 1)));
}

// Behind such a word, or behind another number: of a date, or of what has a rank of its own.
bool counts_something_else(std::string_view before) {
  while (!before.empty() && !is_digit(before.back()) && !is_letter(before.back())) {
    before.remove_suffix(1);
  }
  if (before.empty()) return false;
  std::size_t begin = before.size();
  while (begin > 0 && is_letter(before[begin - 1])) --begin;
  return is_digit(before.back()) || is_counter_or_several(before.substr(begin));
}

}  // namespace

std::optional<std::int64_t> rank_in_name(std::string_view path) {
  std::string name(path.substr(path.rfind('/') + 1));
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (const auto rank = after_word(name, "rank", true)) return rank;
  if (const auto rank = after_word(name, "worker", true)) return rank;
  if (const auto rank = after_word(name, "r", false)) return rank;
  std::string_view stem = name;
  for (const std::string_view end : {".gz", ".json", ".trace", ".pt"}) {
    if (stem.ends_with(end)) stem.remove_suffix(end.size());
  }
  std::size_t digits = stem.size();
  while (digits > 0 && is_digit(stem[digits - 1])) --digits;
  const bool stands_alone = digits == 0 || stem[digits - 1] == '_' || stem[digits - 1] == '-';
  // No more digits than that: a year or a time of day is no rank.
  const std::size_t count = stem.size() - digits;
  const bool may_be_rank = count > 0 && count <= 3 && stands_alone;
  return may_be_rank && !counts_something_else(stem.substr(0, digits)) ? digits_at(stem, digits)
                                                                       : std::nullopt;
}

}  // namespace traceagent::tools

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

// The last of its kind whose `before`, in the name, passes.
template <typename MayFollow>
std::optional<std::int64_t> after_word(std::string_view name, std::string_view word,
                                       MayFollow may_follow) {
  for (std::size_t at = name.rfind(word); at != std::string_view::npos && at < name.size();
       at = at == 0 ? std::string_view::npos : name.rfind(word, at - 1)) {
    if (!may_follow(name.substr(0, at))) continue;
    std::size_t digits = at + word.size();
    if (digits < name.size() && (name[digits] == '-' || name[digits] == '_')) ++digits;
    if (const auto rank = digits_at(name, digits)) return rank;
  }
  return std::nullopt;
}

bool follows_anything(std::string_view /*before*/) { return true; }
bool follows_no_letter(std::string_view before) {
  return before.empty() || !is_letter(before.back());
}

// "local_rank", "node-rank" and the like: counted within a node, or counting nodes.
bool is_of_job(std::string_view before) {
  if (before.ends_with('_') || before.ends_with('-')) before.remove_suffix(1);
  return !before.ends_with("local") && !before.ends_with("node") && !before.ends_with("group");
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
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

std::optional<std::int64_t> said_by_word(std::string_view name) {
  if (const auto rank = after_word(name, "rank", is_of_job)) return rank;
  if (const auto rank = after_word(name, "worker", follows_anything)) return rank;
  return after_word(name, "r", follows_no_letter);
}

std::optional<std::int64_t> at_end(std::string_view stem) {
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

}  // namespace

std::optional<std::int64_t> rank_in_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = lower_case(path.substr(slash + 1));
  if (const auto rank = said_by_word(name)) return rank;
  if (slash != std::string_view::npos) {
    const std::string_view folders = path.substr(0, slash);
    const std::string folder = lower_case(folders.substr(folders.rfind('/') + 1));
    if (const auto rank = after_word(folder, "rank", is_of_job)) return rank;
  }
  if (const auto rank = after_word(name, "rank", follows_anything)) return rank;
  return at_end(name);
}

}  // namespace traceagent::tools

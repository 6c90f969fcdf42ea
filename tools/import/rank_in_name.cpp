#include "tools/import/rank_in_name.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "agent/trace/process_ids.hpp"
#include "tools/import/foreign_ids.hpp"
#include "tools/import/pytorch_name.hpp"

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

bool follows_no_letter(std::string_view before) {
  return before.empty() || !is_letter(before.back());
}

// Of whose ranks one may speak without a separator: "localrank3", but not "frank3".
bool may_precede_rank(std::string_view before) {
  constexpr std::array<std::string_view, 4> whose = {"global", "local", "node", "group"};
  const auto is_end = [before](std::string_view end) { return before.ends_with(end); };
  return follows_no_letter(before) || std::any_of(whose.begin(), whose.end(), is_end);
}

// "local_rank", "node-rank" and the like: counted within a node, or counting nodes.
bool is_of_job(std::string_view before) {
  if (!may_precede_rank(before)) return false;
  if (before.ends_with('_') || before.ends_with('-')) before.remove_suffix(1);
  return !before.ends_with("local") && !before.ends_with("node") && !before.ends_with("group");
}

// In small letters, and "traceRank3" as "trace-rank3", "MPIRank3" as "mpi-rank3": two words.
std::string plain_words(std::string_view text) {
  const auto is_large = [](char c) { return c >= 'A' && c <= 'Z'; };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_first_large = i > 0 && is_large(text[i]) && is_letter(text[i - 1]);
    const bool is_last_large = i > 0 && i + 1 < text.size() && is_large(text[i - 1]) &&
                               is_large(text[i]) && is_letter(text[i + 1]);
    if (is_first_large || is_last_large) plain += '-';
    plain += static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
  }
  return plain;
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
  if (const auto rank = after_word(name, "worker", follows_no_letter)) return rank;
  return after_word(name, "r", follows_no_letter);
}

// A worker's name that the program has given, of which "_" and a number are a part, not a pid.
bool is_of_program(std::string_view first_word) {
  if (first_word == "rank" || first_word == "worker" || first_word == "r") return true;
  return after_word(first_word, "rank", [](std::string_view before) { return before.empty(); })
      .has_value();
}

// Hosts have no "_" in their names: what is behind the first one is not the host's.
std::string_view without_host(std::string_view name) {
  if (!pytorch_name(name)) return name;
  const std::size_t end = name.find('_');
  return is_of_program(name.substr(0, end)) ? name : name.substr(end);
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

std::optional<std::int64_t> rank_said_in_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string plain = plain_words(path.substr(slash + 1));
  const std::string_view name = without_host(plain);
  if (const auto rank = said_by_word(name)) return rank;
  if (slash != std::string_view::npos) {
    const std::string_view folders = path.substr(0, slash);
    const std::string folder = plain_words(folders.substr(folders.rfind('/') + 1));
    if (const auto rank = after_word(folder, "rank", is_of_job)) return rank;
  }
  return after_word(name, "rank", may_precede_rank);
}

std::optional<std::int64_t> rank_in_name(std::string_view path) {
  const auto said = rank_said_in_name(path);
  return said ? said : at_end(plain_words(path.substr(path.rfind('/') + 1)));
}

}  // namespace traceagent::tools

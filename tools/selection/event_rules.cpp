#include "tools/selection/event_rules.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "agent/trace/json_scan.hpp"
#include "agent/trace/json_text.hpp"

namespace traceagent::tools {

namespace {

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool ok = error == std::errc() && end == text.data() + text.size() && number >= 0;
  return ok ? std::optional(number) : std::nullopt;
}

std::string_view without_outer_spaces(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

}  // namespace

bool EventRules::has_rank(std::int64_t rank) const {
  return ranks.empty() || std::any_of(ranks.begin(), ranks.end(), [rank](const auto& range) {
           return rank >= range.first && rank <= range.second;
         });
}

bool EventRules::has_category(std::string_view category) const {
  if (categories.empty()) {
    return true;
  }
  bool found = false;
  for_each_category(category, [&](std::string_view one) {
    found = found || std::find(categories.begin(), categories.end(), one) != categories.end();
  });
  return found;
}

std::string category_in_json(std::string_view text) {
  std::string result(trace::escaped_bound(text.size()), '\0');
  const char* const end = trace::put_escaped(result.data(), text);
  result.resize(static_cast<std::size_t>(end - result.data()));
  return result;
}

std::string_view normal_category(std::string_view part, std::string& room) {
  part = without_outer_spaces(part);
  if (part.find('\\') == std::string_view::npos) {
    return part;
  }
  room = category_in_json(trace::unescaped(part));
  return room;
}

std::vector<std::pair<std::int64_t, std::int64_t>> parse_ranks(std::string_view list) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranks;
  bool ok = true;
  for_each_part(list, [&](std::string_view spaced) {
    const std::string_view part = without_outer_spaces(spaced);
    const std::size_t dash = part.find('-');
    const auto first = number_of(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number_of(part.substr(dash + 1));
    ok = ok && first && last && *first <= *last;
    if (ok) {
      ranks.emplace_back(*first, *last);
    }
  });
  return ok ? ranks : std::vector<std::pair<std::int64_t, std::int64_t>>();
}

}  // namespace traceagent::tools

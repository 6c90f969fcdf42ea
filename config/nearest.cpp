#include "config/nearest.hpp"

#include <algorithm>
#include <utility>

namespace traceagent::config {
namespace {

// Names longer than this are not misspellings of ours; the bound keeps hostile input cheap.
constexpr std::size_t longest_name = 128;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const char x = lower(a[i - 1]);
      const char y = lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (x == y ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && x == lower(b[j - 2]) && y == lower(a[i - 2]);
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string_view nearest(std::string_view name, const std::vector<std::string_view>& candidates) {
  if (name.size() > longest_name) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string nearest_in_words(std::string_view name,
                             const std::vector<std::string_view>& candidates) {
  const std::string_view found = nearest(name, candidates);
  if (found.empty()) return "there is none like it";
  return "the nearest is " + std::string(found);
}

}  // namespace traceagent::config

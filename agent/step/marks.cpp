#include "agent/step/marks.hpp"

#include <algorithm>
#include <array>

namespace traceagent::step {
namespace {

constexpr std::array<std::string_view, 13> known_step_names = {
    "step",        "train_step",   "training_step", "train step", "training step",
    "trainstep",   "iteration",    "iter",          "train_iter", "train_iteration",
    "train_batch", "profilerstep", "global_step"};

char lower(char letter) noexcept {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool equals_ignoring_case(std::string_view name, std::string_view lower_case) noexcept {
  return std::equal(name.begin(), name.end(), lower_case.begin(), lower_case.end(),
                    [](char a, char b) { return lower(a) == b; });
}

std::string_view without_trailing(std::string_view name, std::string_view characters) noexcept {
  const auto last = name.find_last_not_of(characters);
  return last == std::string_view::npos ? std::string_view{} : name.substr(0, last + 1);
}

}  // namespace

std::string_view without_number(std::string_view name) noexcept {
  return without_trailing(without_trailing(name, "0123456789 "), "#:_ ");
}

bool matches_mark(const MarkSpecification& mark, std::string_view name) noexcept {
  if (mark.is_prefix) return name.starts_with(mark.name);
  return name == mark.name || without_number(name) == mark.name;
}

int known_step_index(std::string_view name) noexcept {
  constexpr std::size_t longest = 64;
  if (name.size() > longest) return -1;
  const auto bare = without_number(name);
  const auto* known =
      std::find_if(known_step_names.begin(), known_step_names.end(),
                   [bare](std::string_view each) { return equals_ignoring_case(bare, each); });
  return known == known_step_names.end() ? -1 : static_cast<int>(known - known_step_names.begin());
}

std::string_view known_step_name(int index) noexcept {
  return known_step_names[static_cast<std::size_t>(index)];
}

}  // namespace traceagent::step

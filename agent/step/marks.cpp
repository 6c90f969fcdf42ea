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

// By hand: asked of each range that a job opens while its steps are searched for.
template <class Matches>
std::string_view without_trailing(std::string_view name, const Matches& matches) noexcept {
  while (!name.empty() && matches(name.back())) name.remove_suffix(1);
  return name;
}

bool is_in_number(char letter) noexcept {
  return (letter >= '0' && letter <= '9') || letter == ' ';
}

bool is_separator(char letter) noexcept {
  return letter == '#' || letter == ':' || letter == '_' || letter == ' ';
}

}  // namespace

std::string_view without_number(std::string_view name) noexcept {
  return without_trailing(without_trailing(name, is_in_number), is_separator);
}

bool matches_mark(const MarkSpecification& mark, std::string_view name) noexcept {
  if (mark.is_prefix) return name.starts_with(mark.name);
  return name == mark.name || without_number(name) == mark.name;
}

FirstLetters first_letters(const MarkSpecification& mark) noexcept {
  FirstLetters letters{};
  if (mark.kind == MarkSpecification::Kind::nvtx) {
    letters[static_cast<unsigned char>(mark.name[0])] = true;
  }
  if (mark.kind == MarkSpecification::Kind::automatic) {
    for (const std::string_view name : known_step_names) {
      letters[static_cast<unsigned char>(name.front())] = true;
      letters[static_cast<unsigned char>(name.front() - 'a' + 'A')] = true;
    }
  }
  return letters;
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

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace traceagent::tools {

// The categories of a merge's events, so that one that was asked for and is misspelt can be told.
class SeenCategories {
 public:
  // As the event has it: one, or several with commas between.
  void add(std::string_view category);
  // "no event has the category kernl: the nearest is kernel", for each of `wanted` that was not
  // seen.
  [[nodiscard]] std::vector<std::string> missing_in_words(
      const std::vector<std::string>& wanted) const;

 private:
  static constexpr std::size_t most =
      64;  // other people's files may have a category for each event

  bool are_all_ = true;
  std::string last_;  // most events have the category of the one before
  std::vector<std::string> seen_;
};

}  // namespace traceagent::tools

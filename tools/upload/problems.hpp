#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace traceagent::tools {

// The last problem of each place that files go to (place_of(Upload)), the newest first. They
// outlive their uploader: the next one has another place's problem to add.
class Problems {
 public:
  Problems() = default;
  // Of a file with a text() in it; of none, or another text, none.
  explicit Problems(const std::string& path);

  void note(const std::string& place, const std::string& problem);
  [[nodiscard]] bool has(const std::string& place) const;
  // Nothing waits for it any more.
  void forget(const std::string& place);
  // Nor for any but these.
  void keep(const std::set<std::string>& places);
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

  // A line for each, with the mark of its place. Who reads it says how much waits by then.
  [[nodiscard]] std::string text() const;

 private:
  // Names that are in a target make a place of each cycle.
  static constexpr std::size_t most = 8;
  // A place by its mark: a command's words stand in the journal alone.
  std::vector<std::pair<std::string, std::string>> all_;
};

struct ProblemLine {
  std::string text;  // without its mark
  bool is_of_place = false;
};

// Of what Problems::text() or another left in a file.
std::vector<ProblemLine> problem_lines(const std::string& path);

}  // namespace traceagent::tools

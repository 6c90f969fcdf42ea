#include "agent/drain/index_queue.hpp"

#include <utility>

#include "agent/trace/index_file.hpp"

namespace traceagent::drain {

std::string IndexQueue::add(Line line) {
  constexpr std::size_t most_lines = 256;
  lines_.push_back(std::move(line));
  return write(lines_.size() > most_lines);
}

std::string IndexQueue::finish() { return write(true); }

std::string IndexQueue::write(bool may_wait) {
  std::string problem;
  std::size_t done = 0;
  for (bool is_busy = false; done < lines_.size() && !is_busy; ++done) {
    const Line& line = lines_[done];
    const std::string refused = trace::add_to_index(
        line.path, line.head, line.entry, line.may_replace, may_wait ? nullptr : &is_busy);
    if (is_busy) break;
    if (problem.empty()) problem = refused;
    // Who has waited in vain would do so for each of the others.
    if (may_wait && !refused.empty()) done = lines_.size() - 1;
  }
  lines_.erase(lines_.begin(), lines_.begin() + static_cast<std::ptrdiff_t>(done));
  return problem;
}

}  // namespace traceagent::drain

#pragma once

#include <string>
#include <vector>

namespace traceagent::drain {

// Lines on their way into the run's index. Who finds it locked by another process, which may be
// stopped or wait for a slow file system, does not wait for it while the job records: the lines go
// with the next one, or at the end. Where the process is killed before that, recovery adds them.
class IndexQueue {
 public:
  struct Line {
    std::string path;
    std::string head;
    std::string entry;
    bool may_replace;
  };
  // One line of problem, or empty. Waits, half a second at most, where too many do.
  std::string add(Line line);
  // The end: waits half a second at most. Nothing is left.
  std::string finish();
  [[nodiscard]] bool is_empty() const { return lines_.empty(); }

 private:
  std::string write(bool may_wait);

  std::vector<Line> lines_;
};

}  // namespace traceagent::drain

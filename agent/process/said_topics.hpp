#pragma once
// What this process has said already, where no folder is there in which the node's ranks could see
// that of each other.

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace traceagent::process {

// From any thread.
class SaidTopics {
 public:
  // True the first time.
  bool add(std::string_view topic);

 private:
  std::mutex mutex_;
  std::vector<std::string> topics_;  // a handful: they are words of this program
};

}  // namespace traceagent::process

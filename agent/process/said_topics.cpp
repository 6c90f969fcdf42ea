#include "agent/process/said_topics.hpp"

#include <algorithm>

namespace traceagent::process {

bool SaidTopics::add(std::string_view topic) {
  const std::lock_guard lock(mutex_);
  if (std::find(topics_.begin(), topics_.end(), topic) != topics_.end()) return false;
  topics_.emplace_back(topic);
  return true;
}

}  // namespace traceagent::process

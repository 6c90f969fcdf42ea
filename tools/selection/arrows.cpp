#include "tools/selection/arrows.hpp"

namespace traceagent::tools {

void Arrows::start(std::uint64_t id, std::size_t index, Verdict verdict) {
  if (verdict != Verdict::keep) {
    verdicts_.set(index, verdict);
    open_.erase(id);
    return;
  }
  Open& open = open_[id];
  open.serial = ++serial_;
  open.waiting.assign(1, index);
  oldest_.emplace_back(id, serial_);
  // What was begun again or erased since is in the list all the same: it is no longer than this.
  while (oldest_.size() > most_open_) {
    const auto [oldest, serial] = oldest_.front();
    oldest_.pop_front();
    const auto found = open_.find(oldest);
    if (found != open_.end() && found->second.serial == serial) {
      open_.erase(found);
    }
  }
}

void Arrows::step(std::uint64_t id, std::size_t index, Verdict verdict) {
  if (verdict != Verdict::keep) {
    verdicts_.set(index, verdict);
    return;
  }
  const auto found = open_.find(id);
  constexpr std::size_t most_steps = 1024;
  if (found != open_.end() && found->second.waiting.size() < most_steps) {
    found->second.waiting.push_back(index);
  }
}

void Arrows::end(std::uint64_t id, std::size_t index, Verdict verdict) {
  if (verdict != Verdict::keep) {
    verdicts_.set(index, verdict);
    return;
  }
  const auto found = open_.find(id);
  if (found == open_.end()) {
    return;
  }
  verdicts_.set(index, Verdict::keep);
  for (const std::size_t waiting : found->second.waiting) {
    verdicts_.set(waiting, Verdict::keep);
  }
  found->second.waiting.clear();
}

}  // namespace traceagent::tools

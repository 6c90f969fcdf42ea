// What goes into the trace's metadata; never called on the way of a hooked call.

#include <string>

#include "agent/step/tracker.hpp"
#include "config/units.hpp"

namespace traceagent::step {

void LockNotes::on_locked(const LockReport& report) noexcept {
  kind_.store(report.kind, std::memory_order_relaxed);
  period_.store(report.period, std::memory_order_relaxed);
  blocks_.store(report.blocks_per_step, std::memory_order_relaxed);
  tokens_seen_.store(report.tokens_seen, std::memory_order_relaxed);
  step_.store(report.step, std::memory_order_relaxed);
  locks_.fetch_add(1, std::memory_order_relaxed);
}

std::string LockNotes::description() const {
  const std::uint32_t period = period_.load(std::memory_order_relaxed);
  const std::uint32_t blocks = blocks_.load(std::memory_order_relaxed);
  const std::uint64_t locks = locks_.load(std::memory_order_relaxed);
  std::string text = "period of " + std::to_string(period) + " " + kind_name();
  if (blocks > 1) text += ", " + std::to_string(blocks) + " of them a step";
  text += "; locked at step " + std::to_string(step_.load(std::memory_order_relaxed)) + " after " +
          std::to_string(tokens_seen_.load(std::memory_order_relaxed)) + " calls";
  if (locks > 1) text += "; learned " + std::to_string(locks) + " times";
  return text;
}

const char* LockNotes::kind_name() const noexcept {
  switch (kind_.load(std::memory_order_relaxed)) {
    case LockReport::Kind::collectives:
      return "collectives";
    case LockReport::Kind::collective_shapes:
      return "collectives of varying counts";
    case LockReport::Kind::launches:
      return "launches";
  }
  return "calls";
}

std::string Tracker::description() const {
  std::string text;
  switch (mark_.kind) {
    case MarkSpecification::Kind::automatic:
      text = describe_auto();
      break;
    case MarkSpecification::Kind::nvtx:
      text = "nvtx: " + mark_.name + (mark_.is_prefix ? "*" : "");
      break;
    case MarkSpecification::Kind::call:
      text = "call: " + mark_.name + ", " + std::to_string(mark_.every_nth) + " a step";
      break;
    case MarkSpecification::Kind::every:
      text = "every: " + config::show_duration(mark_.period_ns);
      break;
  }
  if (dropped() > 0) text += "; " + std::to_string(dropped()) + " calls missed";
  return text;
}

std::string Tracker::describe_auto() const {
  switch (source()) {
    case Source::ranges: {
      const auto name = followed_name_.load(std::memory_order_relaxed);
      return "auto: nvtx range " + std::string(known_step_name(static_cast<int>(name) - 1));
    }
    case Source::sequence:
      return "auto: " + lock_notes_->description();
    case Source::fallback:
      if (fell_back_for_budget_.load(std::memory_order_relaxed)) {
        const bool is_locked = lock_notes_->locked();
        return "auto: " + (is_locked ? lock_notes_->description() + "; " : "") +
               "every 1 s since budget.overhead left out the " +
               (lock_notes_->follows_launches() ? "launches" : "collectives");
      }
      return "auto: fell back to every 1 s, since no step range and no period of calls was found "
             "within " +
             config::show_duration(patience_ns_);
    default:
      return "auto: not locked yet";
  }
}

}  // namespace traceagent::step

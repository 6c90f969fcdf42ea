#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "agent/step/detector_history.hpp"
#include "agent/step/detector_token.hpp"

namespace traceagent::step {

/// Chooses the thread whose launches are the sequence: the one that launches most (PyTorch's
/// backward thread, not the loader that normalises pictures on the device).
class LaunchThreads {
 public:
  struct Seen {
    Token token;
    CallCounts before;
  };

  LaunchThreads() : early_(std::make_unique_for_overwrite<Seen[]>(early_launches)) {}

  /// Takes a launch in; true if another thread leads from now on. Then the launches that are kept
  /// should be gone through again for that thread's. A job that tries out kernels on many threads
  /// first (XLA) may have launched tens of thousands before its own thread leads.
  bool note(const Token& token, const CallCounts& before) noexcept {
    if (total_ < early_launches) early_[total_] = {token, before};
    ++total_;
    ++counts_[slot(token.thread)];
    latest_[slot(token.thread)] = token.thread;
    if (leader_ == 0) leader_ = token.thread;
    const bool is_time = total_ >= 64 && (total_ & (total_ - 1)) == 0;
    return is_time && elect();
  }

  /// Whether the thread launches enough to be one that trains.
  bool is_heavy(std::uint32_t thread) const noexcept {
    return 8 * counts_[slot(thread)] >= counts_[slot(leader_)] && counts_[slot(thread)] > 0;
  }

  std::uint32_t leader() const noexcept { return leader_; }
  std::uint64_t total() const noexcept { return total_; }
  /// The launches since the beginning; none where they have become too many to be kept.
  const Seen* begin() const noexcept { return early_.get(); }
  const Seen* end() const noexcept {
    return early_.get() + (total_ <= early_launches ? total_ : 0);
  }

 private:
  static constexpr std::uint64_t early_launches = 4096;
  static constexpr std::uint32_t slots = 256;

  static std::uint32_t slot(std::uint32_t thread) noexcept { return thread % slots; }

  bool elect() noexcept {
    std::uint32_t most = slot(leader_);
    for (std::uint32_t each = 0; each < slots; ++each) {
      // Ahead by a quarter, so that two equal threads do not take turns.
      if (4 * counts_[each] > 5 * counts_[most]) most = each;
    }
    if (most == slot(leader_)) return false;
    leader_ = latest_[most];
    return true;
  }

  std::unique_ptr<Seen[]> early_;
  std::array<std::uint64_t, slots> counts_{};
  std::array<std::uint32_t, slots> latest_{};  // the thread that launched last, of those in a slot
  std::uint64_t total_ = 0;
  std::uint32_t leader_ = 0;
};

}  // namespace traceagent::step

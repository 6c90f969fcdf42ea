#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "agent/step/detector_follower.hpp"
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

  /// After a lock nobody is elected: an evaluation launches from another thread for as long as it
  /// likes. But a trainer that goes on in a new thread must not silence the job for good. So
  /// another leads where the leader has launched nothing while that one launched its whole pattern
  /// twice, or while others launched `patience` times and the leader's thread has ended. This is a
  /// launch of another thread than the leader's; true if its thread leads from now on.
  bool note_beside_leader(const Token& token, const Pattern& pattern,
                          std::uint64_t patience) noexcept {
    // Who has more than half of them, if anybody has: Boyer and Moore.
    if (votes_ == 0) {
      rival_ = token.thread;
      matched_ = blocks_ = 0;
    }
    rival_ == token.thread ? ++votes_ : --votes_;
    ++launches_beside_;
    if (token.thread != rival_) return false;
    matched_ = pattern.advance(matched_, mixed(token.exact));
    if (matched_ == pattern.length()) {
      matched_ = 0;
      ++blocks_;
    }
    if (blocks_ < 2 && (!leader_has_ended_ || launches_beside_ < patience)) return false;
    // Its boundaries are a leader's, too.
    counts_[slot(rival_)] = std::max(counts_[slot(rival_)], counts_[slot(leader_)]);
    leader_ = rival_;
    leader_has_ended_ = false;
    note_leader();
    return true;
  }
  /// A launch of the leader's.
  void note_leader() noexcept { launches_beside_ = votes_ = 0; }
  void leader_has_ended() noexcept { leader_has_ended_ = true; }

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
  std::uint32_t rival_ = 0;
  std::uint64_t votes_ = 0;            // for it, of those since the leader's last launch
  std::uint64_t launches_beside_ = 0;  // those
  std::uint64_t matched_ = 0;          // of the pattern, by the rival's newest
  std::uint64_t blocks_ = 0;           // how often it has launched the whole pattern
  bool leader_has_ended_ = false;
};

}  // namespace traceagent::step

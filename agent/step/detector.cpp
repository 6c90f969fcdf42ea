#include "agent/step/detector.hpp"

#include <algorithm>
#include <bitset>

#include "agent/step/detector_launches.hpp"
#include "agent/step/detector_sequence.hpp"

namespace traceagent::step {

struct Detector::State {
  explicit State(DetectorListener& listener)
      : collectives(SequenceDetector::Tokens::collectives, kernels, listener),
        launches(SequenceDetector::Tokens::launches, kernels, listener) {
    launches.set_may_lock(false);
  }

  void note_boundary(const Token& token) noexcept;
  void feed_launch(const Token& token) noexcept;
  void follow_launch(const Token& token, const CallCounts& before) noexcept;
  void feed_collective(const Token& token) noexcept;
  bool follows_collectives() noexcept;

  KernelSet kernels;
  SequenceDetector collectives;
  SequenceDetector launches;
  LaunchThreads threads;
  CallCounts counts;
  std::bitset<256> working_threads;  ///< that have launched or communicated
  std::uint64_t collectives_beside_launches = 0;
  bool by_collectives = false;
};

Detector::Detector(DetectorListener& listener) : state_(std::make_unique<State>(listener)) {}
Detector::~Detector() = default;

void Detector::feed(const Token& token) noexcept {
  switch (token.kind) {
    case Token::Kind::launch:
      return state_->feed_launch(token);
    case Token::Kind::synchronise:
    case Token::Kind::copy_to_device:
      return state_->note_boundary(token);
    case Token::Kind::point_to_point:
    case Token::Kind::collective:
      return state_->feed_collective(token);
  }
}

void Detector::State::note_boundary(const Token& token) noexcept {
  const bool is_copy = token.kind == Token::Kind::copy_to_device;
  ++(is_copy ? counts.copies : counts.synchronisations);
  const bool is_own = by_collectives ? working_threads[token.thread % working_threads.size()]
                                     : threads.is_heavy(token.thread);
  if (is_own) ++counts.own_boundaries;
}

void Detector::State::feed_launch(const Token& token) noexcept {
  const CallCounts before = counts;
  working_threads.set(token.thread % working_threads.size());
  counts.kernels += mixed(token.exact);
  if (kernels.note(token.exact, counts.launches)) ++counts.new_launches;
  ++counts.launches;
  if (by_collectives) return;
  if (launches.locked()) return follow_launch(token, before);
  // A job with collectives launches before its first one, too.
  constexpr std::uint64_t launches_to_believe = 128;
  const bool other_leader = threads.note(token, before);
  launches.set_may_lock(threads.total() >= launches_to_believe);
  if (!other_leader) {
    if (token.thread == threads.leader()) launches.feed(token, before);
    return;
  }
  launches.restart(0);
  for (const auto& seen : threads) {
    if (seen.token.thread == threads.leader()) launches.feed(seen.token, seen.before);
  }
}

// A step of its own that a thread left behind is taken back: nobody knows where it ended.
void Detector::State::follow_launch(const Token& token, const CallCounts& before) noexcept {
  constexpr std::uint64_t least_patience = 64;
  if (token.thread == threads.leader()) {
    threads.note_leader();
  } else {
    const std::uint64_t calls = launches.pattern().length();
    const std::uint64_t patience = std::max(4 * calls, least_patience);
    if (!threads.note_beside_leader(token, launches.pattern(), patience)) return;
    launches.retire();
  }
  launches.feed(token, before);
}

void Detector::State::feed_collective(const Token& token) noexcept {
  working_threads.set(token.thread % working_threads.size());
  if (!follows_collectives()) return;
  const CallCounts before = counts;
  if (token.kind == Token::Kind::point_to_point) ++counts.point_to_points;
  collectives.feed(token, before);
}

bool Detector::State::follows_collectives() noexcept {
  if (by_collectives) return true;
  // A lone barrier does not unseat a lock on launches, training that begins to communicate does.
  constexpr std::uint64_t collectives_to_believe = 64;
  if (launches.locked()) {
    if (++collectives_beside_launches < collectives_to_believe) return false;
    launches.retire();
    collectives.restart(launches.step());
  }
  by_collectives = true;
  return true;
}

Detector::Ahead Detector::ahead() const noexcept {
  const bool by_collectives = state_->by_collectives;
  const SequenceDetector& sequence = by_collectives ? state_->collectives : state_->launches;
  const Follower* follower = sequence.ahead();
  if (follower == nullptr) return {};
  const std::uint32_t thread = by_collectives ? 0 : state_->threads.leader();
  return {&follower->pattern(), follower->matched(), sequence.blocks_ahead(), thread};
}

void Detector::glide(std::uint64_t count) noexcept {
  (state_->by_collectives ? state_->collectives : state_->launches).glide(count);
}

std::uint32_t Detector::leader() const noexcept {
  return state_->by_collectives || !locked() ? 0 : state_->threads.leader();
}

void Detector::leader_has_ended() noexcept { state_->threads.leader_has_ended(); }

bool Detector::wants_launches() const noexcept {
  return !state_->by_collectives || state_->collectives.learning();
}

bool Detector::wants_boundaries() const noexcept {
  return state_->by_collectives ? state_->collectives.learning() : state_->launches.learning();
}

bool Detector::wants_collectives() const noexcept { return true; }

bool Detector::locked() const noexcept {
  return state_->by_collectives ? state_->collectives.locked() : state_->launches.locked();
}

bool Detector::has_candidate() const noexcept {
  return state_->by_collectives ? state_->collectives.has_candidate()
                                : state_->launches.has_candidate();
}

}  // namespace traceagent::step

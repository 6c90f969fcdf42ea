#include "agent/step/tracker.hpp"

#include <algorithm>

namespace traceagent::step {
namespace {

constinit std::atomic<std::uint32_t> next_thread{1};
[[gnu::tls_model("initial-exec")]] constinit thread_local std::uint32_t this_thread = 0;

std::uint32_t thread_number() noexcept {
  if (this_thread == 0) this_thread = next_thread.fetch_add(1, std::memory_order_relaxed);
  return this_thread;
}

}  // namespace

Tracker::Tracker(const MarkSpecification& mark, StepListener& listener, std::uint64_t patience_ns)
    : mark_(mark), listener_(listener), patience_ns_(patience_ns), ranges_(listener) {
  using Kind = MarkSpecification::Kind;
  if (mark_.kind == Kind::automatic) {
    lock_notes_ = std::make_unique<LockNotes>(listener);
    detector_ = std::make_unique<Detector>(*lock_notes_);
  }
  if (mark_.kind == Kind::nvtx) source_ = Source::ranges;
  if (mark_.kind == Kind::call) source_ = Source::calls;
  if (mark_.kind == Kind::every) source_ = Source::slices;
  update_interest();
}

Tracker::~Tracker() = default;

void Tracker::collective(std::uint64_t exact_hash, std::uint64_t shape_hash,
                         std::uint64_t ticks) noexcept {
  if (interest() & interest_collectives) {
    push(Token::Kind::collective, exact_hash, shape_hash, ticks);
  }
}

void Tracker::point_to_point(std::uint64_t exact_hash, std::uint64_t shape_hash,
                             std::uint64_t ticks) noexcept {
  if (interest() & interest_collectives) {
    push(Token::Kind::point_to_point, exact_hash, shape_hash, ticks);
  }
}

void Tracker::launch(std::uint64_t kernel_hash, std::uint64_t ticks) noexcept {
  if (interest() & interest_launches) push(Token::Kind::launch, kernel_hash, kernel_hash, ticks);
}

void Tracker::synchronise(std::uint64_t ticks) noexcept {
  if (interest() & interest_synchronisations) push(Token::Kind::synchronise, 0, 0, ticks);
}

void Tracker::copy_to_device(std::uint64_t ticks) noexcept {
  if (interest() & interest_copies) push(Token::Kind::copy_to_device, 0, 0, ticks);
}

bool Tracker::range_name(std::string_view name, std::uint64_t& key) const noexcept {
  if (mark_.kind == MarkSpecification::Kind::nvtx) {
    key = 0;
    return matches_mark(mark_, name);
  }
  const int index = known_step_index(name);
  key = static_cast<std::uint64_t>(index);
  return index >= 0;
}

void Tracker::range_begin(std::string_view name, std::uint64_t ticks) noexcept {
  std::uint64_t key = 0;
  if (!(interest() & interest_ranges) || !range_name(name, key)) return;
  push(LogEntry::Kind::range_begin, key, ticks);
}

void Tracker::range_end(std::string_view name, std::uint64_t ticks) noexcept {
  std::uint64_t key = 0;
  if (!(interest() & interest_ranges) || !range_name(name, key)) return;
  push(LogEntry::Kind::range_end, key, ticks);
}

void Tracker::mark(std::string_view name, std::uint64_t ticks) noexcept {
  // With `auto` a mark is not enough: "step" as a mark is as often the optimizer's as the loop's.
  if (!(interest() & interest_ranges) || mark_.kind != MarkSpecification::Kind::nvtx) return;
  if (matches_mark(mark_, name)) push(LogEntry::Kind::mark, 0, ticks);
}

void Tracker::call(std::string_view function, std::uint64_t ticks) noexcept {
  if (!(interest() & interest_calls) || function != called_function()) return;
  push(LogEntry::Kind::call, 0, ticks);
}

std::string_view Tracker::called_function() const noexcept {
  if (mark_.kind != MarkSpecification::Kind::call) return {};
  return mark_.name;
}

void Tracker::push(Token::Kind kind, std::uint64_t exact, std::uint64_t shape,
                   std::uint64_t ticks) noexcept {
  append_and_consume({{exact, shape, ticks, thread_number(), kind}, LogEntry::Kind::sequence});
}

void Tracker::push(LogEntry::Kind kind, std::uint64_t name, std::uint64_t ticks) noexcept {
  append_and_consume({{name, 0, ticks, thread_number(), Token::Kind::collective}, kind});
}

void Tracker::append_and_consume(const LogEntry& entry) noexcept {
  log_.append(entry);
  consume_published();
}

void Tracker::consume_published() noexcept {
  // Nobody waits: who finds the turn taken leaves its entry to the holder. The entry cannot be
  // left lying: both sides change turn_ by exchange with acquire and release, so if our exchange
  // reads true, the holder's giving back comes later in turn_'s order, reads from it (or from a
  // later exchange in its release sequence) and so sees our entry in the look that follows.
  // The bound keeps one thread from working for all others for ever; what it leaves behind goes
  // with the next call or poll.
  constexpr int most_entries = 256;
  int taken = 0;
  do {
    if (turn_.exchange(true, std::memory_order_acq_rel)) return;
    LogEntry entry;
    while (taken < most_entries && log_.take(entry)) {
      consume(entry);
      ++taken;
    }
    turn_.exchange(false, std::memory_order_acq_rel);
  } while (taken < most_entries && log_.has_published());
}

void Tracker::consume(const LogEntry& entry) noexcept {
  switch (entry.kind) {
    case LogEntry::Kind::sequence:
      return consume_sequence(entry.token);
    case LogEntry::Kind::call:
      return consume_call(entry.token.ticks);
    default:
      return consume_range(entry);
  }
}

void Tracker::consume_range(const LogEntry& entry) noexcept {
  if (source() == Source::undecided) {
    if (entry.kind == LogEntry::Kind::range_end) return;  // its begin was before our time
    followed_name_.store(entry.token.exact, std::memory_order_relaxed);
    source_.store(Source::ranges, std::memory_order_relaxed);
    update_interest();
  }
  if (source() != Source::ranges) return;
  const Token& token = entry.token;
  if (entry.kind == LogEntry::Kind::range_begin) {
    ranges_.begin(token.exact, token.thread, token.ticks);
  } else if (entry.kind == LogEntry::Kind::range_end) {
    ranges_.end(token.exact, token.thread, token.ticks);
  } else {
    ranges_.mark(token.exact, token.thread, token.ticks);
  }
}

void Tracker::consume_sequence(const Token& token) noexcept {
  if (source() != Source::undecided && source() != Source::sequence) return;
  sequence_seen_ = true;
  detector_->feed(token);
  if (lock_notes_->locked()) source_.store(Source::sequence, std::memory_order_relaxed);
  update_interest();
}

void Tracker::consume_call(std::uint64_t ticks) noexcept {
  if (calls_++ % mark_.every_nth != 0) return;
  if (step_open_) listener_.on_step_end(step_++, ticks);
  step_open_ = true;
  listener_.on_step_begin(step_, ticks);
}

Interest Tracker::wanted() const noexcept {
  switch (source()) {
    case Source::ranges:
      return interest_ranges;
    case Source::calls:
      return interest_calls;
    case Source::slices:
    case Source::fallback:
      return 0;
    case Source::undecided:
    case Source::sequence:
      break;
  }
  Interest wanted = source() == Source::undecided ? interest_ranges : 0;
  if (detector_->wants_collectives()) wanted |= interest_collectives;
  if (detector_->wants_launches()) wanted |= interest_launches;
  if (detector_->wants_boundaries()) wanted |= interest_synchronisations | interest_copies;
  return wanted;
}

void Tracker::update_interest() noexcept {
  const Interest now = wanted();
  if (now != interest()) interest_.store(now, std::memory_order_relaxed);
}

void Tracker::poll(std::uint64_t now_ticks, std::uint64_t now_ns) noexcept {
  consume_published();
  const Source source = this->source();
  if (source == Source::ranges || source == Source::calls) return;
  if (turn_.exchange(true, std::memory_order_acq_rel)) return;  // the next poll will do
  if (source == Source::undecided) poll_patience(now_ticks, now_ns);
  if (source == Source::slices || source == Source::fallback) poll_slices(now_ticks, now_ns);
  turn_.exchange(false, std::memory_order_acq_rel);
}

std::uint64_t Tracker::longest_pause_ns() const noexcept {
  constexpr std::uint64_t shortest_ns = 1'000'000;
  if (source() != Source::slices) return UINT64_MAX;
  return std::max(mark_.period_ns / 4, shortest_ns);
}

void Tracker::poll_slices(std::uint64_t now_ticks, std::uint64_t now_ns) noexcept {
  if (!step_open_) {
    slices_start_ns_ = now_ns;
    step_open_ = true;
    listener_.on_step_begin(step_, now_ticks);
    return;
  }
  if (now_ns < slices_start_ns_) return;
  const std::uint64_t slice = (now_ns - slices_start_ns_) / mark_.period_ns;
  if (slice <= step_) return;
  listener_.on_step_end(step_, now_ticks);
  step_ = slice;
  listener_.on_step_begin(step_, now_ticks);
}

void Tracker::poll_patience(std::uint64_t now_ticks, std::uint64_t now_ns) noexcept {
  if (source() != Source::undecided || !sequence_seen_) return;
  if (patience_start_ns_ == 0) patience_start_ns_ = now_ns;
  if (now_ns < patience_start_ns_) return;
  const std::uint64_t waited_ns = now_ns - patience_start_ns_;
  // Very slow steps: while a period is being verified the answer is near.
  const std::uint64_t patience_ns = detector_->has_candidate() ? 10 * patience_ns_ : patience_ns_;
  if (waited_ns < patience_ns) return;
  source_.store(Source::fallback, std::memory_order_relaxed);
  update_interest();
  poll_slices(now_ticks, now_ns);
}

}  // namespace traceagent::step

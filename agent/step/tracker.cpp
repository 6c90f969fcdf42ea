#include "agent/step/tracker.hpp"

#include <algorithm>
#include <utility>

#include "agent/event/ticks.hpp"

namespace traceagent::step {
namespace {

[[gnu::tls_model("initial-exec")]] constinit thread_local std::uint32_t calls_of_this_thread = 0;

}  // namespace

Tracker::Tracker(const MarkSpecification& mark, StepListener& listener, std::uint64_t patience_ns)
    : mark_(mark),
      first_letters_(first_letters(mark)),
      listener_(listener),
      patience_ns_(patience_ns),
      ranges_(listener) {
  using Kind = MarkSpecification::Kind;
  if (mark_.kind == Kind::automatic) {
    lock_notes_ = std::make_unique<LockNotes>(listener);
    detector_ = std::make_unique<Detector>(*lock_notes_);
    strides_.reserve();
  }
  if (mark_.kind == Kind::nvtx) source_ = Source::ranges;
  if (mark_.kind == Kind::call) source_ = Source::calls;
  if (mark_.kind == Kind::every) source_ = Source::slices;
  update_interest();
}

Tracker::~Tracker() = default;

void Tracker::collective(std::uint64_t exact_hash, std::uint64_t shape_hash,
                         std::uint64_t ticks) noexcept {
  if (!(interest() & interest_collectives)) return;
  if (passes_collective([&] { return std::pair(exact_hash, shape_hash); })) return;
  push(Token::Kind::collective, exact_hash, shape_hash, ticks);
}

void Tracker::point_to_point(std::uint64_t exact_hash, std::uint64_t shape_hash,
                             std::uint64_t ticks) noexcept {
  if (!(interest() & interest_collectives)) return;
  if (passes_collective([&] { return std::pair(exact_hash, shape_hash); })) return;
  push(Token::Kind::point_to_point, exact_hash, shape_hash, ticks);
}

void Tracker::launch(std::uint64_t kernel_hash, std::uint64_t ticks) noexcept {
  if (!(interest() & interest_launches) || passes_launch(kernel_hash)) return;
  push(Token::Kind::launch, kernel_hash, kernel_hash, ticks);
}

void Tracker::synchronise(std::uint64_t ticks) noexcept {
  if (interest() & interest_synchronisations) push(Token::Kind::synchronise, 0, 0, ticks);
}

void Tracker::copy_to_device(std::uint64_t ticks) noexcept {
  if (interest() & interest_copies) push(Token::Kind::copy_to_device, 0, 0, ticks);
}

StepName Tracker::step_name(std::string_view name) const noexcept {
  if (!(interest() & interest_ranges)) return no_step_name;
  if (!may_begin_step_name(name.empty() ? '\0' : name.front())) return no_step_name;
  if (mark_.kind == MarkSpecification::Kind::nvtx) return matches_mark(mark_, name) ? 1 : 0;
  return static_cast<StepName>(known_step_index(name) + 1);
}

void Tracker::range_begin(StepName name, std::uint64_t ticks) noexcept {
  if (name == no_step_name || !(interest() & interest_ranges)) return;
  push(LogEntry::Kind::range_begin, name, ticks);
}

void Tracker::range_end(StepName name, std::uint64_t ticks) noexcept {
  if (name == no_step_name || !(interest() & interest_ranges)) return;
  push(LogEntry::Kind::range_end, name, ticks);
}

void Tracker::mark(StepName name, std::uint64_t ticks) noexcept {
  // With `auto` a mark is not enough: "step" as a mark is as often the optimizer's as the loop's.
  if (mark_.kind != MarkSpecification::Kind::nvtx) return;
  if (name == no_step_name || !(interest() & interest_ranges)) return;
  push(LogEntry::Kind::mark, name, ticks);
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
  const Token token{exact, shape, ticks, thread_number(), kind};
  append_and_consume({token, LogEntry::Kind::sequence, strides_.stop_this_thread()});
}

void Tracker::push(LogEntry::Kind kind, std::uint64_t name, std::uint64_t ticks) noexcept {
  append_and_consume({{name, 0, ticks, thread_number(), Token::Kind::collective}, kind});
}

void Tracker::append_and_consume(const LogEntry& entry) noexcept {
  const std::uint64_t number = log_.append(entry);
  consume_published(entry.kind == LogEntry::Kind::sequence ? number : 0);
  constexpr std::uint32_t calls_per_sample = 64;
  if (++calls_of_this_thread % calls_per_sample == 0) [[unlikely]] {
    sample(entry.token.ticks);
  }
}

// What the call cost until here. One that lost its core in between says nothing of us.
void Tracker::sample(std::uint64_t begin_ticks) noexcept {
  constexpr std::uint64_t most_ticks = 100'000;
  const std::uint64_t ticks = event::read_ticks() - begin_ticks;
  sampled_ticks_.fetch_add(std::min(ticks, most_ticks), std::memory_order_relaxed);
  sampled_calls_.fetch_add(1, std::memory_order_relaxed);
}

// The holder of the turn alone writes.
void Tracker::count(const LogEntry& entry) noexcept {
  auto& heard = heard_[entry.token.thread % heard_places];
  heard.store(heard.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

Tracker::Heard Tracker::heard_since_last() noexcept {
  Heard heard;
  for (std::size_t i = 0; i < heard_places; ++i) {
    const std::uint32_t now = heard_[i].load(std::memory_order_relaxed);
    heard.busiest = std::max<std::uint64_t>(heard.busiest, now - heard_before_[i]);
    heard_before_[i] = now;
  }
  // Whose calls found the log full is not known.
  const std::uint64_t all_dropped = dropped();
  heard.busiest += all_dropped - dropped_before_;
  dropped_before_ = all_dropped;
  // Seen while a stride begins anew it may be more than it was, and then less.
  const std::uint64_t newly_passed = strides_.passed() - passed_before_;
  if (static_cast<std::int64_t>(newly_passed) > 0) heard.passed = newly_passed;
  passed_before_ += heard.passed;
  const auto calls = static_cast<double>(sampled_calls_.exchange(0, std::memory_order_relaxed));
  const auto ticks = static_cast<double>(sampled_ticks_.exchange(0, std::memory_order_relaxed));
  if (calls > 0) heard.ticks_per_call = ticks / calls;
  return heard;
}

void Tracker::consume_published(std::uint64_t own_entry) noexcept {
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
    if (own_entry != 0 && log_.taken() >= own_entry && source() == Source::sequence) {
      strides_.open(*detector_);
    }
    turn_.exchange(false, std::memory_order_acq_rel);
  } while (taken < most_entries && log_.has_published());
}

void Tracker::consume(const LogEntry& entry) noexcept {
  count(entry);
  switch (entry.kind) {
    case LogEntry::Kind::sequence:
      return consume_sequence(entry);
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

void Tracker::consume_sequence(const LogEntry& entry) noexcept {
  if (source() != Source::undecided && source() != Source::sequence) return;
  sequence_seen_ = true;
  strides_.catch_up(entry, *detector_);
  detector_->feed(entry.token);
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
  if (source == Source::sequence) strides_.take_passed(*detector_);
  if (lost_its_calls()) fall_back(now_ticks, now_ns);
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
    step_ = first_slice_;
    step_open_ = true;
    listener_.on_step_begin(step_, now_ticks);
    return;
  }
  if (now_ns < slices_start_ns_) return;
  const std::uint64_t slice = first_slice_ + (now_ns - slices_start_ns_) / mark_.period_ns;
  if (slice <= step_) return;
  listener_.on_step_end(step_, now_ticks);
  step_ = slice;
  listener_.on_step_begin(step_, now_ticks);
}

void Tracker::leave_out(Interest left_out) noexcept {
  left_out_.store(left_out, std::memory_order_relaxed);
}

bool Tracker::lost_its_calls() const noexcept {
  const Interest left_out = left_out_.load(std::memory_order_relaxed);
  if (source() == Source::undecided) return (left_out & interest_collectives) != 0;
  if (source() != Source::sequence) return false;
  return (left_out &
          (lock_notes_->follows_launches() ? interest_launches : interest_collectives)) != 0;
}

// For good: calls that come back later would be counted from somewhere in the middle.
void Tracker::fall_back(std::uint64_t now_ticks, std::uint64_t now_ns) noexcept {
  strides_.close();
  if (!lock_notes_->locked()) listener_.on_no_step_found(now_ticks);
  if (lock_notes_->step_is_open()) listener_.on_step_end(lock_notes_->latest_step(), now_ticks);
  first_slice_ = lock_notes_->steps_begun();
  fell_back_for_budget_.store(true, std::memory_order_relaxed);
  source_.store(Source::fallback, std::memory_order_relaxed);
  update_interest();
  poll_slices(now_ticks, now_ns);
}

void Tracker::poll_patience(std::uint64_t now_ticks, std::uint64_t now_ns) noexcept {
  if (source() != Source::undecided || !sequence_seen_) return;
  if (patience_start_ns_ == 0) patience_start_ns_ = now_ns;
  if (now_ns < patience_start_ns_) return;
  const std::uint64_t waited_ns = now_ns - patience_start_ns_;
  // Very slow steps: while a period is being verified the answer is near.
  const bool is_near = detector_->has_candidate() && left_out_.load() == 0;
  const std::uint64_t patience_ns = is_near ? 10 * patience_ns_ : patience_ns_;
  if (waited_ns < patience_ns) return;
  listener_.on_no_step_found(now_ticks);
  source_.store(Source::fallback, std::memory_order_relaxed);
  update_interest();
  poll_slices(now_ticks, now_ns);
}

}  // namespace traceagent::step

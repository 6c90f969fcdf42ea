#include "agent/process/counter_thread.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>

#include "agent/event/thread_cpu.hpp"
#include "agent/event/ticks.hpp"
#include "agent/event/usual_floats.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/futex.hpp"
#include "agent/process/own_thread.hpp"
#include "agent/ring/writer.hpp"

namespace traceagent::process {
namespace {

constexpr std::size_t stack_bytes = 512 * 1024;
// Nothing is sampled: it waits to be woken.
constexpr std::uint64_t idle_period_ns = 3600'000'000'000;

std::uint64_t now_ns() noexcept { return event::clock_ns(CLOCK_MONOTONIC); }

// What may be spent at once, as the governor's own bucket: windows that come one by one have their
// samples however dear these are.
constexpr std::uint64_t burst_ns = 10'000'000'000;

bool is_window_open(const Agent& agent) noexcept {
  const step::State state = agent.windows->state();
  return state == step::State::startup || state == step::State::active;
}

}  // namespace

int CounterThread::start(Agent& agent, std::unique_ptr<counters::Source> source,
                         const char* name) noexcept {
  agent_ = &agent;
  name_ = name;
  source_ = std::move(source);
  is_started_.store(true, std::memory_order_release);
  const int result = start_own_thread(stack_bytes, nullptr, run, this);
  if (result != 0) is_started_.store(false, std::memory_order_release);
  return result;
}

void* CounterThread::run(void* self) noexcept {
  const event::UsualFloats usual_floats;
  leave_starters_scheduling();
  static_cast<CounterThread*>(self)->loop();
  return nullptr;
}

void CounterThread::wake() noexcept {
  if (!is_started()) return;
  const int saved_errno = errno;
  // Waking it for nothing costs as much as many a sample. It looks by itself once it may.
  if (is_overdrawn()) {
    leave_out(event::read_ticks());
  } else {
    wake_at_once();
  }
  errno = saved_errno;
}

void CounterThread::wake_at_once() noexcept {
  const int saved_errno = errno;
  word_.fetch_add(1, std::memory_order_release);
  // It sleeps for an hour where no window is open: nobody else tells it of one.
  if (!futex_wake(word_) && !futex_wake(word_)) {
    not_woken_.fetch_add(1, std::memory_order_relaxed);
  }
  errno = saved_errno;
}

void CounterThread::stop() noexcept {
  is_stopped_.store(true, std::memory_order_release);
  if (source_ != nullptr) source_->stop();
  wake_at_once();
}

bool CounterThread::has_sampled_since(std::uint64_t ticks) const noexcept {
  return sampled_ticks_.load(std::memory_order_acquire) >= ticks;
}

// The latest stays: of two threads the later one may be the first to tell. Release: who sees the
// time sees the samples.
void CounterThread::note_sampled(std::uint64_t ticks) noexcept {
  std::uint64_t before = sampled_ticks_.load(std::memory_order_relaxed);
  while (before < ticks &&
         !sampled_ticks_.compare_exchange_weak(before, ticks, std::memory_order_release,
                                               std::memory_order_relaxed)) {
  }
}

void CounterThread::leave_out(std::uint64_t ticks) noexcept {
  edges_left_out_.fetch_add(1, std::memory_order_relaxed);
  note_sampled(ticks);
}

std::uint64_t CounterThread::busy_ns() const noexcept {
  const std::uint64_t since_ns = busy_since_ns_.load(std::memory_order_relaxed);
  return since_ns == 0 ? 0 : now_ns() - since_ns;
}

// The price of a start, as the drain's own is (governor.cpp): what a sample costs is for the pause
// between samples, and for the governor, which would leave out calls for it.
void CounterThread::open(counters::Recorder& recorder) noexcept {
  const std::uint64_t before_ns = event::thread_cpu_ns();
  source_->open(recorder);
  opening_cpu_ns_ += event::thread_cpu_since_ns(before_ns);
}

// Where the clock is refused it stays what it was.
void CounterThread::note_own_cpu() noexcept {
  const std::uint64_t cpu_ns = event::thread_cpu_ns();
  if (cpu_ns < opening_cpu_ns_ + own_cpu_ns()) return;
  own_cpu_ns_.store(cpu_ns - opening_cpu_ns_, std::memory_order_relaxed);
}

void CounterThread::sample(counters::Recorder& recorder, bool is_first) noexcept {
  busy_since_ns_.store(now_ns(), std::memory_order_relaxed);
  const std::uint64_t ticks = event::read_ticks();
  if (is_first) recorder.begin_window();
  open(recorder);
  source_->sample(recorder);
  missed_.store(recorder.missed(), std::memory_order_relaxed);
  note_own_cpu();
  busy_since_ns_.store(0, std::memory_order_relaxed);
  note_sampled(ticks);
}

// For how long it may spend nothing more: half of what our threads may take is the most. Else the
// governor would leave out what the GPU did for it.
std::uint64_t CounterThread::price_ns(std::uint64_t cost_ns) const noexcept {
  const std::uint64_t budget_millionths = agent_->options.budget_overhead;
  return budget_millionths == 0 ? 0 : cost_ns * 2 * 1'000'000 / budget_millionths;
}

// Where a sample is dear (hundreds of cores, many GPUs) the interval is longer.
std::uint64_t CounterThread::pause_ns(std::uint64_t cost_ns) noexcept {
  const std::uint64_t interval_ns = agent_->options.counters_interval;
  const std::uint64_t least_ns = price_ns(cost_ns);
  if (least_ns <= interval_ns) return interval_ns;
  if (least_ns > stretched_ns()) stretched_ns_.store(least_ns, std::memory_order_relaxed);
  return least_ns;
}

// Windows may follow each other without a pause, each with two edges.
void CounterThread::pay(std::uint64_t cost_ns) noexcept {
  const std::uint64_t now = now_ns(), price = price_ns(cost_ns);
  // After a rest both edges of a window are paid for, however dear.
  const std::uint64_t from_ns = now - std::min(now, std::max(burst_ns, 2 * price));
  const std::uint64_t paid_ns = paid_until_ns_.load(std::memory_order_relaxed);
  paid_until_ns_.store(std::max(paid_ns, from_ns) + price, std::memory_order_relaxed);
}

bool CounterThread::is_overdrawn() const noexcept {
  return now_ns() < paid_until_ns_.load(std::memory_order_relaxed);
}

// Sampled when a window opens, at every interval, and when it closes: one that is shorter than an
// interval has two samples. Where the next one has opened since, one sample is for both. What may
// not be paid for is left out.
void CounterThread::loop() noexcept {
  ring::writer.nested_in_start = 1;
  // Here, not by the thread that started it: what NVML starts has it too (last_thread.hpp).
  prctl(PR_SET_NAME, name_);
  counters::Recorder recorder(agent_->ring.ring);
  source_->prepare(recorder);
  note_own_cpu();
  const ring::Header& header = agent_->ring.ring.header();
  std::uint64_t next_ns = 0;
  std::uint32_t seen_before = 0, window_before = 0;
  bool was_open = false;
  while (!is_stopped_.load(std::memory_order_acquire)) {
    const std::uint32_t seen = word_.load(std::memory_order_acquire);
    const bool is_open = is_window_open(*agent_);
    const std::uint32_t window = header.window_count.load(std::memory_order_relaxed);
    const std::uint64_t ticks = event::read_ticks();
    const bool is_first = is_open && window != window_before;
    // An opening is known by its window: what was overdrawn in an open one has no edge to sample.
    const bool has_changed = seen != seen_before || (was_open && !is_open);
    const bool is_edge = is_first || (has_changed && (is_open || was_open));
    const bool is_due = is_open && now_ns() >= next_ns;
    if ((is_edge || is_due) && !is_overdrawn()) {
      const std::uint64_t cpu_before_ns = own_cpu_ns();
      sample(recorder, is_first);
      const std::uint64_t cost_ns = own_cpu_ns() - cpu_before_ns;
      pay(cost_ns);
      next_ns = now_ns() + pause_ns(cost_ns);
      if (is_open) window_before = window;
    } else if (is_edge) {
      leave_out(ticks);
    } else if (!is_open) {
      // A window that was over before it was seen (a short process) is not waited for.
      note_sampled(ticks);
    }
    seen_before = seen;
    // Nobody tells of an edge that comes while it is overdrawn: there is none to be sampled late.
    was_open = is_open && !is_overdrawn();
    sleep(seen, is_open ? next_ns : UINT64_MAX);
  }
}

void CounterThread::sleep(std::uint32_t seen, std::uint64_t until_ns) noexcept {
  const std::uint64_t now = now_ns();
  const std::uint64_t paid_ns = paid_until_ns_.load(std::memory_order_relaxed);
  if (paid_ns > now) until_ns = paid_ns;
  const std::uint64_t left_ns = until_ns > now ? until_ns - now : 0;
  futex_wait(word_, seen, std::min(left_ns, idle_period_ns));
}

}  // namespace traceagent::process

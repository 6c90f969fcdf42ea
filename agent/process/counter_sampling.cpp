#include "agent/process/counter_sampling.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>

#include "agent/counters/gpu_source.hpp"
#include "agent/counters/proc_source.hpp"
#include "agent/door/loaded_objects.hpp"
#include "agent/event/error_text.hpp"
#include "agent/event/ticks.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/last_thread.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/own_thread.hpp"
#include "config/counter_names.hpp"

namespace traceagent::process {
namespace {

// A sample takes a millisecond, or some for each GPU; on a machine that is overloaded, its turn may
// be long in coming.
constexpr std::uint64_t patience_ns = 300'000'000;
// A thread that has been at one for so long is not waited for.
constexpr std::uint64_t stuck_ns = 1'000'000'000;

void say_no_thread(const Agent& agent, int error) {
  if (!is_spokesman(agent, "counters")) return;
  say_problem("no counters: no thread could be made for them (" +
              std::string(event::error_text(error)) + "): " + thread_remedy);
}

}  // namespace

void CounterSampling::start(Agent& agent) noexcept try {
  const ring::Header& header = agent.ring.ring.header();
  patience_ticks_ =
      static_cast<std::uint64_t>(static_cast<double>(patience_ns) / header.nominal_ns_per_tick);
  const config::CounterScopes scopes =
      config::parse_counters(agent.options.counters_sources).scopes;
  const bool is_any = scopes.process || scopes.node || scopes.gpu;
  has_small_ring_ = is_any && header.chunk_count < counters::fewest_chunks;
  if (has_small_ring_) return;
  const bool is_first = agent.speaks_for_node();
  const counters::ProcSource::Wanted wanted{scopes.process, scopes.node && is_first};
  int error = 0;
  if (wanted.process || wanted.node) {
    error =
        of_proc_.start(agent, std::make_unique<counters::ProcSource>(wanted), counter_thread_name);
  }
  if (error == 0 && scopes.gpu && is_first) {
    error = of_gpus_.start(
        agent,
        std::make_unique<counters::GpuSource>(door::true_dlsym(), agent.identity.local_world_size),
        gpu_counter_thread_name);
  }
  if (error != 0) say_no_thread(agent, error);
} catch (...) {
  // No line of its own: where memory is out, more important things say so.
  is_without_memory_ = true;
}

void CounterSampling::wake() noexcept {
  of_proc_.wake();
  of_gpus_.wake();
}

bool CounterSampling::is_awaited(const CounterThread& thread, std::uint64_t ticks) const noexcept {
  return thread.is_started() && !thread.has_sampled_since(ticks) && thread.busy_ns() < stuck_ns;
}

bool CounterSampling::is_settled(const ring::Window& window) const noexcept {
  if (is_finished_) return true;
  const std::uint64_t end_ticks = window.end_ticks.load(std::memory_order_relaxed);
  if (event::read_ticks() >= end_ticks + patience_ticks_) return true;
  return !is_awaited(of_proc_, end_ticks) && !is_awaited(of_gpus_, end_ticks);
}

void CounterSampling::finish(const Agent& agent) noexcept {
  const auto& windows = agent.ring.ring.header().windows;
  const auto is_done = [this](const ring::Window& window) {
    return window.state.load(std::memory_order_acquire) != ring::WindowState::closed ||
           is_settled(window);
  };
  // Twice: the window has closed a moment ago, and this thread may have lost its core since.
  const std::uint64_t deadline_ns = event::clock_ns(CLOCK_MONOTONIC) + 2 * patience_ns;
  while (!std::all_of(windows.begin(), windows.end(), is_done) &&
         event::clock_ns(CLOCK_MONOTONIC) < deadline_ns) {
    const timespec pause{0, 200'000};
    nanosleep(&pause, nullptr);
  }
  is_finished_ = true;
  for (CounterThread* thread : {&of_proc_, &of_gpus_}) {
    if (thread->is_started()) thread->stop();
  }
}

void CounterSampling::describe(trace::JsonObject& coverage) const {
  if (has_small_ring_) coverage.add("counters", "none: the ring is too small for them");
  if (is_without_memory_) coverage.add("counters", "none: out of memory");
  const std::uint64_t stretched_ns = std::max(of_proc_.stretched_ns(), of_gpus_.stretched_ns());
  if (stretched_ns != 0) coverage.add("counters_interval_ns", stretched_ns);
  const std::uint64_t left_out = of_proc_.edges_left_out() + of_gpus_.edges_left_out();
  if (left_out != 0) coverage.add("counters_edges_left_out", left_out);
  const std::uint64_t missed = of_proc_.missed() + of_gpus_.missed();
  if (missed != 0) coverage.add("counters_missed", missed);
  const std::uint64_t not_woken = of_proc_.not_woken() + of_gpus_.not_woken();
  if (not_woken != 0) coverage.add("counters_not_woken", not_woken);
  const std::uint64_t busy_ns = of_gpus_.busy_ns();
  if (busy_ns < stuck_ns) return;
  coverage.add("gpu_counters",
               "NVML has not answered for " + std::to_string(busy_ns / 1'000'000'000) + " s");
}

}  // namespace traceagent::process

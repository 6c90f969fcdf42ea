#pragma once

#include <atomic>
#include <cstdint>

namespace traceagent::step {

/// Small numbers, from 1, never given twice: a pthread_t is given again.
[[gnu::visibility("hidden")]] extern constinit std::atomic<std::uint32_t> next_thread_number;
/// 0: the thread has none yet.
[[gnu::visibility("hidden")]] extern constinit thread_local std::uint32_t this_thread_number
    __attribute__((tls_model("initial-exec")));

inline std::uint32_t thread_number() noexcept {
  if (this_thread_number == 0) {
    this_thread_number = next_thread_number.fetch_add(1, std::memory_order_relaxed);
  }
  return this_thread_number;
}

}  // namespace traceagent::step

#pragma once
// The agent's one thread: polls step detection, takes clock anchors, writes finished windows, and
// does the work of the exit, so that none of it happens in a thread of the job.

#include <atomic>
#include <cstdint>

namespace traceagent::process {

struct Agent;

class DrainThread {
 public:
  // Returns 0, or the number of the error for which there is no thread.
  int start(Agent& agent) noexcept;

  // Asks for the last windows and the node file, and waits at most `timeout_ns`. False when it was
  // not done by then. From any thread, signal handlers' too.
  bool finish(std::uint64_t timeout_ns) noexcept;

 private:
  static void* run(void* self) noexcept;
  void loop() noexcept;
  void sleep() noexcept;
  bool is_alone() noexcept;

  Agent* agent_ = nullptr;
  std::uint64_t next_look_ns_ = 0;      // for other threads
  std::atomic<std::uint32_t> wake_{0};  // futex: raised by finish()
  std::atomic<std::uint32_t> done_{0};  // futex: raised when the last work is done
};

}  // namespace traceagent::process

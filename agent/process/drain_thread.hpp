#pragma once
// The agent's one thread: polls step detection, takes clock anchors, writes finished windows, and
// does the work of the exit, so that none of it happens in a thread of the job.

#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace traceagent::process {

struct Agent;
class WindowWriter;

class DrainThread {
 public:
  // Returns 0, or the number of the error for which there is no thread.
  int start(Agent& agent) noexcept;

  // Asks for the last windows and the node file, and waits at most `timeout_ns`, or until the time
  // that allow() has put off the end to. False when it was not done by then.
  bool finish(std::uint64_t timeout_ns) noexcept;
  // The same, whatever allow() says: somebody is about to send SIGKILL. From signal handlers too.
  bool finish_within(std::uint64_t timeout_ns) noexcept;

  // Why the last work was not done: see LockedOut.
  bool is_locked_out() const noexcept { return is_locked_out_.load(std::memory_order_acquire); }

  // By the thread itself: the work that begins now may take so long.
  void allow(std::uint64_t duration_ns) noexcept;

 private:
  bool finish_until(std::uint64_t deadline_ns, bool may_be_put_off) noexcept;
  static void* run(void* self) noexcept;
  void loop() noexcept;
  void sleep(const WindowWriter& writer) noexcept;
  bool prefault(WindowWriter& writer) noexcept;
  bool is_alone() noexcept;

  Agent* agent_ = nullptr;
  std::atomic<pid_t> thread_{0};
  std::atomic<bool> is_locked_out_{false};
  std::uint64_t next_look_ns_ = 0;      // for other threads
  std::atomic<std::uint32_t> wake_{0};  // futex: raised by finish()
  std::atomic<std::uint32_t> done_{0};  // futex: raised when the last work is done
  std::atomic<std::uint64_t> put_off_until_ns_{0};
};

}  // namespace traceagent::process

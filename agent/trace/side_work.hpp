#pragma once

#include <functional>

namespace traceagent::trace {

// Somebody who works beside the caller, on one thing at a time (tools/side_thread.hpp). The job's
// own process has none: what ends there has one thread less to wait for.
class SideWork {
 public:
  virtual ~SideWork() = default;
  // Waits for the work before, then begins this and comes back. It must not throw.
  virtual void begin(std::function<void()> work) = 0;
  // What the work wrote can be read then.
  virtual void wait() = 0;
};

}  // namespace traceagent::trace

#pragma once

namespace traceagent::trace {

// Who reads beside a merge, several things at a time (tools/reading_threads.hpp). One thread alone
// begins and finishes. The job's own process has none, as with SideWork.
class SideReads {
 public:
  class Read {
   public:
    virtual ~Read() = default;
    virtual void run() noexcept = 0;
  };

  virtual ~SideReads() = default;
  // It is run soon; comes back at once. It must live until finish(), and not be begun again before.
  virtual void begin(Read& read) = 0;
  // Comes back when a read that was begun has been run: by the caller where nobody has yet. What it
  // wrote can be read then.
  virtual void finish(Read& read) = 0;
};

}  // namespace traceagent::trace

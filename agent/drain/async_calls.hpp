#pragma once
// Which call of a communicator that does not block an NCCL kernel carries out, where NCCL told
// nothing: by the order of calls and launches, and only where no other call can be meant.

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "agent/drain/window_events.hpp"
#include "agent/event/clock_anchor.hpp"

namespace traceagent::drain {

// Such a communicator takes no call before the one before it is launched: what was launched at a
// time is the latest asked for by then of one of the communicators. Where NCCL makes several
// kernels of one group, none is certain.
class AsyncCalls {
 public:
  AsyncCalls(const std::vector<ThreadEvents>& threads, const event::TickConverter& clock);

  struct Kernel {
    std::int64_t launched_ns;
    std::optional<std::uint64_t> stream;  // the handle; not known where no door saw the launch
    std::string_view name;
  };
  struct Answer {
    std::vector<const event::Record*> calls;  // Layout::collective; empty: none is certain
    bool is_ambiguous = false;                // several may be meant; else none can be
  };
  // Kernels by launch, of launches outside of any NCCL call of their thread. In the same order.
  std::vector<Answer> find(const std::vector<Kernel>& kernels);

 private:
  // What is launched together: a call, or of a group what is one communicator's on one stream.
  struct Unit {
    std::int64_t asked_ns;  // the call's begin, or that of the group's end
    std::uint32_t communicator;
    std::uint64_t stream;
    std::vector<const event::Record*> calls;
    std::optional<std::size_t> kernel;  // for which it is the only answer
  };
  // A call, and what launches it: itself, or the end of its group.
  struct Asked {
    const event::Record* by;
    const event::Record* call;
  };

  static void collect(const ThreadEvents& thread, std::vector<Asked>& asked);
  void add(const Asked& asked, const event::TickConverter& clock);
  std::vector<Unit*> pending(const Kernel& kernel);

  std::map<std::uint32_t, std::vector<Unit>> units_;  // by communicator, in order
};

}  // namespace traceagent::drain

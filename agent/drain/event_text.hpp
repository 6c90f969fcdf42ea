#pragma once
// One record as one line of the trace.

#include <cstdint>
#include <string_view>

#include "agent/drain/collective_plans.hpp"
#include "agent/drain/demangled_names.hpp"
#include "agent/drain/simulated_calls.hpp"
#include "agent/event/record.hpp"
#include "agent/ring/ring.hpp"
#include "agent/trace/event_writer.hpp"

namespace traceagent::drain {

struct EventTimes {
  std::int64_t ts_ns;  // relative to the document's base
  std::int64_t dur_ns;
  bool in_flight;  // had not ended when it was written: dur_ns reaches to the window's end
};

// "error": "cudaErrorMemoryAllocation", where the code has a name.
void error_arg(trace::EventWriter& writer, std::string_view category, std::int32_t result);

class EventText {
 public:
  // `plans` may be null: NCCL told nothing; so may `simulated`: there are none.
  EventText(const ring::Ring& ring, trace::EventWriter& writer,
            const CollectivePlans* plans = nullptr, const SimulatedCalls* simulated = nullptr);

  // `kernel`: the name (its offset) of what a launch ran, for launches that do not know it
  // themselves, such as NCCL's; 0: not known.
  void write(const event::Record& record, std::int64_t tid, const EventTimes& times,
             std::uint32_t kernel = 0);

 private:
  void write_call(const event::Record& record, std::int64_t tid, const EventTimes& times,
                  std::uint32_t kernel);
  void write_range(const event::Record& record, std::int64_t tid, const EventTimes& times);
  void call_args(const event::Record& record, std::string_view name, std::uint32_t kernel);
  void stream_arg(const event::Record& record);
  void handle_arg(const event::Record& record, std::string_view name);
  void launch_args(const event::Record& record, std::uint32_t kernel);
  void copy_args(const event::Record& record);
  void collective_args(const event::Record& record);
  void communicator_args(const event::Record& record);
  void payload_arg(const event::Record& record);

  ring::Ring ring_;
  trace::EventWriter& writer_;
  const CollectivePlans* const plans_;
  const SimulatedCalls* const simulated_;
  DemangledNames names_;
};

}  // namespace traceagent::drain

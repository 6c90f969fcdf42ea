#pragma once
// What NCCL told of its work, in lines of the trace.

#include <cstdint>
#include <vector>

#include "agent/drain/collective_plans.hpp"
#include "agent/ring/ring.hpp"
#include "agent/trace/event_writer.hpp"

namespace traceagent::drain {

// Arguments of a collective's event: algorithm, protocol, channels, nccl seq, comm id.
void write_plan(trace::EventWriter& writer, const ring::Ring& ring,
                const CollectivePlans::Joined& joined);

// The same of a kernel that carries out these calls: of several what they have in common.
void write_plan_of_kernel(trace::EventWriter& writer, const ring::Ring& ring,
                          const CollectivePlans& plans,
                          const std::vector<const event::Record*>& calls);

// A kernel channel or a proxy's work as an event of its own, times relative to the document's base.
void write_plan_part(trace::EventWriter& writer, const event::Record& record, std::int64_t tid,
                     std::int64_t ts_ns, std::int64_t dur_ns);

}  // namespace traceagent::drain

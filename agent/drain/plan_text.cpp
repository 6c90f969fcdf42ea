#include "agent/drain/plan_text.hpp"

#include <algorithm>
#include <string>

#include "agent/api/function.hpp"
#include "agent/trace/json_text.hpp"

namespace traceagent::drain {

using event::PlanKind;

void write_plan(trace::EventWriter& writer, const ring::Ring& ring,
                const CollectivePlans::Joined& joined) {
  const event::CollectivePlan plan = event::collective_plan_of(*joined.first);
  const std::string_view algorithm = ring.name(plan.algorithm);
  const std::string_view protocol = ring.name(plan.protocol);
  if (!algorithm.empty()) writer.arg("algorithm", algorithm);
  if (!protocol.empty()) writer.arg("protocol", protocol);
  if (joined.channels != 0) writer.arg("channels", std::uint32_t{joined.channels});
  if (plan.sequence != event::no_sequence) writer.arg("nccl seq", plan.sequence);
  if (joined.operations > 1) writer.arg("nccl operations", joined.operations);
  if (plan.communicator == 0 || plan.communicator > ring::communicator_slots) return;
  const ring::Communicator& comm = ring.header().communicators[plan.communicator - 1];
  writer.arg("comm id", trace::Hex{comm.hash.load(std::memory_order_acquire)});
}

void write_plan_of_kernel(trace::EventWriter& writer, const ring::Ring& ring,
                          const CollectivePlans& plans,
                          const std::vector<const event::Record*>& calls) {
  std::vector<event::CollectivePlan> told;
  for (const event::Record* call : calls) {
    const CollectivePlans::Joined* joined = plans.of(*call);
    if (joined == nullptr) return;
    if (calls.size() == 1) return write_plan(writer, ring, *joined);
    told.push_back(event::collective_plan_of(*joined->first));
  }
  const auto is_common = [&](auto event::CollectivePlan::*field) {
    return !told.empty() && std::all_of(told.begin(), told.end(), [&](const auto& each) {
      return each.*field == told.front().*field;
    });
  };
  // Texts are in the ring once.
  if (is_common(&event::CollectivePlan::algorithm) && told.front().algorithm != 0) {
    writer.arg("algorithm", ring.name(told.front().algorithm));
  }
  if (is_common(&event::CollectivePlan::protocol) && told.front().protocol != 0) {
    writer.arg("protocol", ring.name(told.front().protocol));
  }
}

namespace {

std::string part_name(PlanKind kind, const event::PlanPart& part) {
  const std::string_view function = api::name_of(static_cast<api::Function>(part.function)).shown;
  const std::string of = function.empty() ? "" : std::string(function) + " ";
  switch (kind) {
    case PlanKind::kernel_channel:
      return of + "channel " + std::to_string(part.channel);
    case PlanKind::proxy_operation:
      return of + (part.is_send ? "proxy send" : "proxy receive");
    case PlanKind::proxy_step:
      return of + "step " + std::to_string(part.channel);
    default:
      return of + "network";
  }
}

}  // namespace

void write_plan_part(trace::EventWriter& writer, const event::Record& record, std::int64_t tid,
                     std::int64_t ts_ns, std::int64_t dur_ns) {
  const auto kind = event::plan_kind_of(record);
  const event::PlanPart part = event::plan_part_of(record);
  const bool on_gpu = kind == PlanKind::kernel_channel;
  writer.complete(part_name(kind, part), on_gpu ? "nccl_channel" : "nccl_proxy", tid, ts_ns,
                  dur_ns);
  if (part.sequence != event::no_sequence) writer.arg("nccl seq", part.sequence);
  if (kind == PlanKind::proxy_step) {
    writer.arg("step", part.channel);
  } else if (kind != PlanKind::network) {
    writer.arg("channel", part.channel);
  }
  if (on_gpu && part.gpu_begin_ns != 0) {
    writer.arg("gpu begin ns", part.gpu_begin_ns);
    writer.arg("gpu end ns", part.gpu_end_ns);
  }
  if (!on_gpu) {
    writer.arg("peer", part.peer);
    writer.arg(kind == PlanKind::proxy_operation ? trace::ArgKey("chunk bytes")
               : kind == PlanKind::network       ? trace::ArgKey("id")
                                                 : trace::ArgKey("bytes"),
               part.bytes);
  }
  writer.end();
}

}  // namespace traceagent::drain

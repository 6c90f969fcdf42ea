#pragma once
// What NCCL's profiler interface told, as it lies in the ring: how NCCL carries a collective out
// and, by option, when its kernel's channels and its network proxies worked.

#include <cstdint>

#include "agent/event/record.hpp"

namespace traceagent::event {

// The upper half of Record::flags of Layout::collective_plan (the lower one has bits that all
// layouts share). Stored in the ring file: append only.
enum class PlanKind : std::uint8_t {
  collective,       // and point-to-point
  kernel_channel,   // one channel of an NCCL kernel on the GPU
  proxy_operation,  // a network proxy's share of a collective, on one channel with one peer
  proxy_step,       // one transfer of it
  network,          // what the network plugin says of a transfer
  copy_engine,      // a collective that copy engines carry out: no kernel
};

inline constexpr std::uint8_t unknown_datatype = 255;

// Fields of PlanKind::collective and copy_engine. begin_ticks to end_ticks is how long NCCL was
// about launching it, on the thread that launched.
struct CollectivePlan {
  std::uint16_t function;      // function: api::Function; none where NCCL has a newer one
  std::uint32_t communicator;  // extra: index in the ring's table, plus 1
  std::uint32_t algorithm;     // detail: offset in the names, as NCCL says it; 0: none
  std::uint32_t protocol;      // result: offset in the names
  std::uint64_t count;         // args[0]; NCCL counts some in bytes, whatever the program said
  std::uint64_t sequence;  // args[1]: equal on all ranks, per function, from 0; no_sequence: sends
                           // and receives
  std::uint8_t datatype;   // args[2] bits 0..7: ncclDataType_t
  std::uint8_t channels;   // args[2] bits 8..15; 0: not told
  std::uint8_t warps;      // args[2] bits 16..23
  std::int32_t peer;       // args[2] bits 32..63: root or peer
  std::uint64_t call;      // args[3]: ring::correlation_of() of the wrapper's record; 0: unknown
};

inline constexpr std::uint8_t flags_of(PlanKind kind) noexcept {
  return static_cast<std::uint8_t>(static_cast<unsigned>(kind) << 4);
}
inline PlanKind plan_kind_of(const Record& record) noexcept {
  return static_cast<PlanKind>(record.flags >> 4);
}

inline bool is_plan_of_collective(const Record& record) noexcept {
  const PlanKind kind = plan_kind_of(record);
  return record.layout == Layout::collective_plan &&
         (kind == PlanKind::collective || kind == PlanKind::copy_engine);
}

inline CollectivePlan collective_plan_of(const Record& record) noexcept {
  return {record.function,
          record.extra,
          record.detail,
          static_cast<std::uint32_t>(record.result),
          record.args[0],
          record.args[1],
          static_cast<std::uint8_t>(record.args[2]),
          static_cast<std::uint8_t>(record.args[2] >> 8),
          static_cast<std::uint8_t>(record.args[2] >> 16),
          static_cast<std::int32_t>(record.args[2] >> 32),
          record.args[3]};
}

// All but the ticks, which publishing sets.
inline void fill(Record& record, PlanKind kind, const CollectivePlan& plan) noexcept {
  record.layout = Layout::collective_plan;
  record.flags = flags_of(kind);
  record.function = plan.function;
  record.extra = plan.communicator;
  record.detail = plan.algorithm;
  record.result = static_cast<std::int32_t>(plan.protocol);
  record.args[0] = plan.count;
  record.args[1] = plan.sequence;
  record.args[2] = plan.datatype | std::uint64_t{plan.channels} << 8 |
                   std::uint64_t{plan.warps} << 16 |
                   std::uint64_t{static_cast<std::uint32_t>(plan.peer)} << 32;
  record.args[3] = plan.call;
}

// Fields of the other kinds. function and communicator are the collective's they belong to.
struct PlanPart {
  std::uint16_t function;      // function: none where the collective is another process's
  std::uint32_t communicator;  // extra
  std::uint32_t channel;       // detail; the step's number of a proxy_step
  std::int32_t peer;           // result: of a proxy
  std::uint64_t gpu_begin_ns;  // args[0]: the GPU's own clock; kernel_channel alone
  std::uint64_t gpu_end_ns;    // args[1]: 0: not told
  std::uint64_t sequence;      // args[2]: of the collective, no_sequence: none
  std::uint64_t bytes;         // args[3], low 62 bits: chunk, transfer; the id of `network`
  bool is_send;                // args[3] bit 63: of a proxy
};

inline PlanPart plan_part_of(const Record& record) noexcept {
  return {
      record.function,          record.extra,   record.detail,  record.result,
      record.args[0],           record.args[1], record.args[2], record.args[3] & (UINT64_MAX >> 2),
      record.args[3] >> 63 != 0};
}

inline void fill(Record& record, PlanKind kind, const PlanPart& part) noexcept {
  record.layout = Layout::collective_plan;
  record.flags = flags_of(kind);
  record.function = part.function;
  record.extra = part.communicator;
  record.detail = part.channel;
  record.result = part.peer;
  record.args[0] = part.gpu_begin_ns;
  record.args[1] = part.gpu_end_ns;
  record.args[2] = part.sequence;
  record.args[3] = (part.bytes & (UINT64_MAX >> 2)) | (part.is_send ? std::uint64_t{1} << 63 : 0);
}

// ring::Communicator::device of a communicator that NCCL's profiler interface named: the wrappers
// may know the same one under a hash of their own.
inline constexpr std::int32_t told_by_nccl = -2;

}  // namespace traceagent::event

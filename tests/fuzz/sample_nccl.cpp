#include "tests/fuzz/sample_nccl.hpp"

#include "agent/event/device_record.hpp"
#include "agent/event/plan_record.hpp"

namespace traceagent::fuzz {
namespace {

using api::Function;
using event::Collective;
using event::Layout;
using event::PlanKind;
using event::Record;

constexpr std::uint64_t type_float = 7, group_stream = 0x77;

class Nccl {
 public:
  Nccl(drain::CraftedRing& made, ring::Chunk& main, ring::Chunk& other)
      : made_(made), main_(main), other_(other) {
    ring_tree_ = made.ring().add_name("RING");
    protocol_ = made.ring().add_name("LL128");
    told_ = made.communicator(0xabc, 3, 8);
    made.ring().header().communicators[told_ - 1].device = event::told_by_nccl;
    patient_ = made.communicator(0x99, 3, 8);
  }

  void alone();
  void in_a_group();
  void unseen_by_wrappers();
  void parts();
  void patient();

 private:
  Record& call(Function function, Collective kind, std::uint64_t at, std::uint64_t count,
               bool in_group = false, std::uint32_t communicator = 1) {
    Record& record = made_.add(main_, function, Layout::collective, at, at + 5);
    record.detail = static_cast<std::uint32_t>(kind);
    record.extra = communicator;
    record.flags = in_group ? event::flag_in_group : 0;
    record.args[0] = count;
    record.args[2] = type_float | std::uint64_t{2} << 32;
    record.args[3] = group_stream;
    return record;
  }
  void plan(ring::Chunk& chunk, Function function, std::uint64_t at, std::uint64_t count,
            std::uint64_t of_call = 0, PlanKind kind = PlanKind::collective) {
    const event::CollectivePlan plan{static_cast<std::uint16_t>(function),
                                     told_,
                                     ring_tree_,
                                     protocol_,
                                     count,
                                     at,
                                     type_float,
                                     4,
                                     16,
                                     2,
                                     of_call};
    event::fill(made_.add(chunk, function, Layout::collective_plan, at, at + 3), kind, plan);
  }
  // As CUPTI tells it: the launch, and the kernel 100 ns later.
  void kernel(std::uint32_t thread, std::uint64_t at, const char* name) {
    const std::int64_t start = drain::epoch_ns + static_cast<std::int64_t>(at);
    const std::uint32_t correlation = next_correlation_++;
    event::fill(made_.add(other_, Function::none, Layout::api_call, 5000, 5001),
                event::ApiCall{true, thread, made_.ring().add_name("cuLaunchKernelEx"), 0, start,
                               start + 4, correlation});
    event::fill(made_.add(other_, Function::none, Layout::device_work, 5000, 5001),
                event::DeviceWork{event::DeviceKind::kernel, 0, 1, 20, made_.ring().add_name(name),
                                  start + 100, start + 190, correlation, 0, 0});
  }
  void part(PlanKind kind, std::uint64_t at, bool is_send) {
    const auto gpu_ns = static_cast<std::uint64_t>(drain::epoch_ns) + at;
    const event::PlanPart part{static_cast<std::uint16_t>(Function::ncclAllReduce),
                               told_,
                               2,
                               1,
                               kind == PlanKind::kernel_channel ? gpu_ns : 0,
                               kind == PlanKind::kernel_channel ? gpu_ns + 60 : 0,
                               7,
                               4096,
                               is_send};
    event::fill(made_.add(other_, Function::ncclAllReduce, Layout::collective_plan, at, at + 40),
                kind, part);
  }

  drain::CraftedRing& made_;
  ring::Chunk &main_, &other_;
  std::uint32_t ring_tree_ = 0, protocol_ = 0, told_ = 0, patient_ = 0, next_correlation_ = 50;
};

// NCCL names the call.
void Nccl::alone() {
  Record& reduce = call(Function::ncclAllReduce, Collective::all_reduce, 3100, 64);
  reduce.end_ticks = 3190;
  const std::int64_t timed_ns = drain::epoch_ns + 3150;
  event::fill(made_.add(other_, Function::none, Layout::timed_by_event, 3180, 3185),
              event::TimedByEvent{drain::correlation_of(made_.ring(), reduce), group_stream,
                                  timed_ns, timed_ns + 30, 500, 0});
  kernel(100, 3120, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
  plan(main_, Function::ncclAllReduce, 3130, 64, drain::correlation_of(made_.ring(), reduce));
  Record& all = call(Function::ncclAlltoAll, Collective::all_to_all, 3200, 32);
  all.end_ticks = 3290;
  kernel(100, 3220, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)");
  for (const std::uint64_t at : {3230u, 3240u}) {
    plan(main_, Function::ncclSend, at, 4, drain::correlation_of(made_.ring(), all));
  }
}

// NCCL names none.
void Nccl::in_a_group() {
  made_.add(main_, Function::ncclGroupStart, Layout::none, 3300, 3302);
  call(Function::ncclAllReduce, Collective::all_reduce, 3304, 10, true);
  call(Function::ncclSend, Collective::send, 3311, 20, true);
  call(Function::ncclRecv, Collective::receive, 3318, 20, true);
  call(Function::ncclBroadcast, Collective::broadcast, 3325, 30, true);
  made_.add(main_, Function::ncclGroupEnd, Layout::none, 3332, 3390);
  kernel(100, 3340, "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)");
  plan(main_, Function::ncclAllReduce, 3350, 10);
  plan(main_, Function::ncclSend, 3355, 20);
  plan(main_, Function::ncclRecv, 3360, 20);
  plan(main_, Function::ncclBroadcast, 3365, 30);
}

void Nccl::unseen_by_wrappers() {
  kernel(101, 3400, "ncclDevKernel_Reduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
  for (const Function function :
       {Function::ncclReduce, Function::ncclReduceScatter, Function::ncclAllGather,
        Function::ncclGather, Function::ncclScatter}) {
    plan(other_, function, 3410 + static_cast<std::uint64_t>(function) % 50, 77);
  }
  plan(other_, Function::ncclAllGather, 3470, 9, 0, PlanKind::copy_engine);
}

void Nccl::parts() {
  std::uint64_t at = 3480;
  for (const PlanKind kind : {PlanKind::kernel_channel, PlanKind::proxy_operation,
                              PlanKind::proxy_step, PlanKind::network}) {
    part(kind, at += 10, false);
    part(kind, at += 10, true);
  }
}

// A communicator that does not block: its kernels are launched by a thread of NCCL's.
void Nccl::patient() {
  call(Function::ncclAllReduce, Collective::all_reduce, 3600, 8, false, patient_);
  kernel(101, 3620, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
  made_.add(main_, Function::ncclGroupStart, Layout::none, 3700, 3702);
  call(Function::ncclBroadcast, Collective::broadcast, 3704, 8, true, patient_);
  call(Function::ncclReduce, Collective::reduce, 3711, 8, true, patient_);
  made_.add(main_, Function::ncclGroupEnd, Layout::none, 3718, 3722);
  kernel(101, 3730, "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
  kernel(101, 3740, "ncclDevKernel_Reduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
}

}  // namespace

void add_nccl(drain::CraftedRing& made, ring::Chunk& main, ring::Chunk& other) {
  Nccl nccl(made, main, other);
  nccl.alone();
  nccl.in_a_group();
  nccl.unseen_by_wrappers();
  nccl.parts();
  nccl.patient();
}

}  // namespace traceagent::fuzz

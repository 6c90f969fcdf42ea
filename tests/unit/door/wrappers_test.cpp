#include "agent/door/wrappers.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>

#include "agent/device/event_timing_slots.hpp"
#include "agent/door/call.hpp"
#include "agent/door/nccl_calls.hpp"
#include "tests/unit/door/recording.hpp"

namespace traceagent::door {
namespace {

using api::Function;

#define EACH_plain(name) ROW(name)
#define EACH_ptsz(name) ROW(name) ROW(name##_ptsz)
#define EACH_ptds(name) ROW(name) ROW(name##_ptds)

TEST(FindFunction, KnowsEveryRow) {
#define ROW(symbol) EXPECT_EQ(find_function(#symbol), Function::symbol);
#define IN_since_11(...) __VA_ARGS__
#define IN_since_12(...) __VA_ARGS__
#define IN_since_13(...) __VA_ARGS__
#define IN_until_12(...) __VA_ARGS__
#define IN_before_12(...) __VA_ARGS__
#define IN_before_13(...) __VA_ARGS__
#define CUDART(majors, variant, name, ...) EACH_##variant(name)
#define REGISTRATION(majors, name) ROW(name)
#define NCCL(name, ...) ROW(name)
#include "agent/api/cuda_runtime.def"
#include "agent/api/nccl.def"
#include "agent/api/registration.def"
#undef ROW
#undef CUDART
#undef REGISTRATION
#undef NCCL
}

TEST(FindFunction, KnowsNothingElse) {
  for (const char* symbol : {"", "cuda", "cudaMallo", "cudaMallocX", "cuMemAlloc", "cuDeviceGet",
                             "malloc", "nccl", "zzz", "cudaMalloc_ptsz"}) {
    EXPECT_EQ(find_function(symbol), Function::none) << symbol;
  }
}

// A row of the table is a wrapper of every major that has the function.
void expect_wrappers(int first_major, int last_major, Function function) {
  for (int major = first_major; major <= last_major; ++major) {
    EXPECT_NE(wrapper_of(static_cast<Library>(major - 11), function), nullptr)
        << api::name_of(function).symbol << " of libcudart " << major;
  }
}

// Most jobs reset a device once, in a call whose real function nobody has looked up yet.
TEST(Wrapper, OfADeviceResetLooksAtTheFirstOne) {
  step::set_all_modes(step::Mode::pass);
  target(Library::cudart_13, Function::cudaDeviceReset) = nullptr;
  device::wanted_devices = 1;
  const std::uint32_t before = device::device_resets;
  reinterpret_cast<cudaError_t (*)()>(wrapper_of(Library::cudart_13, Function::cudaDeviceReset))();
  EXPECT_EQ(device::device_resets, before + 1);
  device::wanted_devices = 0;
}

TEST(WrapperOf, IsThereForEveryRow) {
#define RANGE_since_11(name) expect_wrappers(11, 13, Function::name);
#define RANGE_since_12(name) expect_wrappers(12, 13, Function::name);
#define RANGE_since_13(name) expect_wrappers(13, 13, Function::name);
#define RANGE_until_12(name) expect_wrappers(11, 12, Function::name);
#define RANGE_before_12(name) expect_wrappers(11, 11, Function::name);
#define RANGE_before_13(name) expect_wrappers(11, 12, Function::name);
#define CUDART(majors, variant, name, ...) RANGE_##majors(name)
#define REGISTRATION(majors, name) RANGE_##majors(name)
#define NCCL(name, ...) EXPECT_NE(wrapper_of(Library::nccl, Function::name), nullptr) << #name;
#include "agent/api/cuda_runtime.def"
#include "agent/api/nccl.def"
#include "agent/api/registration.def"
  EXPECT_EQ(wrapper_of(Library::nccl, Function::cudaMalloc), nullptr);
  EXPECT_EQ(wrapper_of(Library::cudart_13, Function::ncclAllReduce), nullptr);
  EXPECT_EQ(wrapper_of(Library::cudart_11, Function::__cudaLaunchKernel), nullptr);
  EXPECT_EQ(wrapper_of(Library::count, Function::cudaMalloc), nullptr);
}

TEST(WrapperTables, HoldEachFunctionOnceAndEachWrapperOnce) {
  std::set<void*> addresses;
  for (const auto& wrappers : {cudart_11_wrappers(), cudart_12_wrappers(), cudart_13_wrappers(),
                               nccl_wrappers(), driver_wrappers()}) {
    std::set<Function> functions;
    for (const Wrapper& wrapper : wrappers) {
      EXPECT_TRUE(functions.insert(wrapper.function).second)
          << api::name_of(wrapper.function).symbol;
      EXPECT_TRUE(addresses.insert(wrapper.address).second)
          << api::name_of(wrapper.function).symbol;
    }
    EXPECT_FALSE(functions.empty());
  }
}

// A wrapper with a real function of ours behind it.
template <class Real>
Real* wrapped(Library library, Function function, Real* real) {
  target(library, function).store(reinterpret_cast<void*>(real));
  return reinterpret_cast<Real*>(wrapper_of(library, function));
}

int device_memory;
cudaError_t real_malloc(void** pointer, std::size_t) {
  *pointer = &device_memory;
  errno = ENOSPC;
  return cudaSuccess;
}

TEST(Wrapper, RecordsTheCallAndLeavesResultAndErrnoAlone) {
  Recording recording;
  auto* hooked = wrapped(Library::cudart_13, Function::cudaMalloc, &real_malloc);
  void* pointer = nullptr;
  errno = 0;
  EXPECT_EQ(hooked(&pointer, 4096), cudaSuccess);
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_EQ(pointer, &device_memory);
  const auto records = recording.records();
  ASSERT_EQ(records.size(), 1u);
  const event::Record& record = *records[0];
  EXPECT_EQ(record.function, static_cast<std::uint16_t>(Function::cudaMalloc));
  EXPECT_EQ(record.layout, event::Layout::allocation);
  EXPECT_EQ(record.result, cudaSuccess);
  EXPECT_EQ(record.args[0], reinterpret_cast<std::uintptr_t>(&device_memory));
  EXPECT_EQ(record.args[2], 4096u);
  EXPECT_GT(record.end_ticks.load(), record.begin_ticks.load());
}

TEST(Wrapper, RecordsNothingInOtherModes) {
  Recording recording;
  auto* hooked = wrapped(Library::cudart_12, Function::cudaMalloc, &real_malloc);
  void* pointer = nullptr;
  for (const step::Mode mode : {step::Mode::pass, step::Mode::observe}) {
    step::set_all_modes(mode);
    EXPECT_EQ(hooked(&pointer, 1), cudaSuccess);
  }
  const int before = starts.load();
  step::set_all_modes(step::Mode::unstarted);
  EXPECT_EQ(hooked(&pointer, 1), cudaSuccess);
  EXPECT_EQ(starts.load(), before + 1);
  EXPECT_TRUE(recording.records().empty());
}

TEST(Wrapper, PassesThroughWhereTheAgentItselfCalls) {
  Recording recording;
  auto* hooked = wrapped(Library::cudart_13, Function::cudaMalloc, &real_malloc);
  void* pointer = nullptr;
  ring::writer.nested_in_start = 1;
  EXPECT_EQ(hooked(&pointer, 1), cudaSuccess);
  ring::writer.nested_in_start = 0;
  EXPECT_TRUE(recording.records().empty());
}

TEST(Wrapper, AnswersLikeTheApiWhereThereIsNoRealFunction) {
  Recording recording;
  using Free = cudaError_t(void*);
  using Send =
      ncclResult_t(const void*, std::size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
  auto* no_free = reinterpret_cast<Free*>(wrapper_of(Library::cudart_11, Function::cudaFree));
  auto* no_send = reinterpret_cast<Send*>(wrapper_of(Library::nccl, Function::ncclSend));
  EXPECT_EQ(no_free(nullptr), cudaErrorSharedObjectSymbolNotFound);
  EXPECT_EQ(no_send(nullptr, 1, ncclFloat, 0, nullptr, nullptr), ncclSystemError);
}

const Recording* watched;
bool seen_in_flight;
cudaError_t real_synchronise() {
  const auto records = watched->records();
  seen_in_flight = records.size() == 1 && records[0]->end_ticks.load() == 0;
  return cudaErrorLaunchFailure;
}

TEST(Wrapper, ShowsTheCallWhileItRunsAndItsErrorAfterwards) {
  Recording recording;
  watched = &recording;
  auto* hooked = wrapped(Library::cudart_13, Function::cudaDeviceSynchronize, &real_synchronise);
  EXPECT_EQ(hooked(), cudaErrorLaunchFailure);
  EXPECT_TRUE(seen_in_flight);
  EXPECT_EQ(recording.records().at(0)->result, cudaErrorLaunchFailure);
}

// The flight recorder goes round while a call runs: its place is another call's when it returns.
cudaError_t overtaken_synchronise() {
  auto* record = const_cast<event::Record*>(watched->records().at(0));
  record->result = 7;
  record->begin_ticks.store(record->begin_ticks.load() + 1);
  return cudaErrorLaunchFailure;
}

TEST(Wrapper, LeavesARecordAloneThatIsAnotherCallsByNow) {
  Recording recording;
  watched = &recording;
  auto* hooked =
      wrapped(Library::cudart_13, Function::cudaDeviceSynchronize, &overtaken_synchronise);
  EXPECT_EQ(hooked(), cudaErrorLaunchFailure);
  EXPECT_EQ(recording.records().at(0)->result, 7);
  EXPECT_EQ(recording.records().at(0)->end_ticks.load(), 0u);
}

cudaError_t throwing_synchronise() { throw 42; }

TEST(Wrapper, LetsAnExceptionOfACallbackThrough) {
  Recording recording;
  auto* hooked =
      wrapped(Library::cudart_12, Function::cudaDeviceSynchronize, &throwing_synchronise);
  EXPECT_THROW(hooked(), int);
}

cudaError_t real_launch(const void*, dim3, dim3, void**, std::size_t, cudaStream_t) {
  return cudaSuccess;
}

TEST(Wrapper, RecordsALaunchWithItsKernel) {
  Recording recording;
  static const char stub = 0;
  register_kernel(&stub, "_Z3addPf");
  auto* hooked = wrapped(Library::cudart_13, Function::cudaLaunchKernel, &real_launch);
  const auto stream = reinterpret_cast<cudaStream_t>(0x1234);
  EXPECT_EQ(hooked(&stub, dim3(1, 2, 3), dim3(4, 5, 6), nullptr, 1024, stream), cudaSuccess);
  const event::Record& record = *recording.records().at(0);
  EXPECT_EQ(record.layout, event::Layout::launch);
  EXPECT_EQ(recording.ring().name(record.extra), "_Z3addPf");
  EXPECT_EQ(record.detail, 1024u);
  EXPECT_EQ(record.args[0], 1u | std::uint64_t{2} << 32);
  EXPECT_EQ(record.args[1], 3u | std::uint64_t{4} << 32);
  EXPECT_EQ(record.args[2], 5u | std::uint64_t{6} << 32);
  EXPECT_EQ(record.args[3], 0x1234u);
}

cudaError_t real_exc(const cudaLaunchConfig_t*, const void*, void**) {
  return cudaErrorInvalidValue;
}

TEST(Wrapper, ReadsNoNullConfig) {
  Recording recording;
  auto* hooked = wrapped(Library::cudart_13, Function::cudaLaunchKernelExC, &real_exc);
  EXPECT_EQ(hooked(nullptr, nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(recording.records().size(), 1u);
}

using AllReduce = ncclResult_t(const void*, void*, std::size_t, ncclDataType_t, ncclRedOp_t,
                               ncclComm_t, cudaStream_t);
AllReduce* hooked_all_reduce;
ncclResult_t all_reduce_result;
bool nested;
ncclResult_t real_all_reduce(const void* send, void* receive, std::size_t count,
                             ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                             cudaStream_t stream) {
  if (!nested) return all_reduce_result;
  nested = false;
  return hooked_all_reduce(send, receive, count, type, op, comm, stream);
}

class NcclWrapper : public testing::Test {
 protected:
  NcclWrapper() {
    hooked_all_reduce = wrapped(Library::nccl, Function::ncclAllReduce, &real_all_reduce);
    all_reduce_result = ncclSuccess;
    nested = false;
    add_communicator(comm, 99, 4, 1);
  }
  ~NcclWrapper() override { remove_communicator(comm); }
  ncclResult_t call() {
    return hooked_all_reduce(&comm, &comm, 512, ncclBfloat16, ncclAvg, comm, nullptr);
  }
  Recording recording;
  ncclComm_t comm = reinterpret_cast<ncclComm_t>(0x7e0000001000);
};

TEST_F(NcclWrapper, RecordsACollective) {
  EXPECT_EQ(call(), ncclSuccess);
  EXPECT_EQ(call(), ncclSuccess);
  const event::Record& record = *recording.records().at(1);
  EXPECT_EQ(record.layout, event::Layout::collective);
  EXPECT_EQ(record.detail, static_cast<std::uint32_t>(Collective::all_reduce));
  EXPECT_EQ(record.args[0], 512u);
  EXPECT_EQ(record.args[1], 1u) << "its sequence number";
  EXPECT_EQ(record.args[2] & 0xff, static_cast<std::uint64_t>(ncclBfloat16));
  EXPECT_EQ(record.args[2] >> 8 & 0xff, static_cast<std::uint64_t>(ncclAvg));
  EXPECT_EQ(record.flags, event::flag_in_place);
}

TEST_F(NcclWrapper, RecordsOnlyTheOutermostCall) {
  nested = true;
  EXPECT_EQ(call(), ncclSuccess);
  EXPECT_EQ(recording.records().size(), 1u);
  EXPECT_EQ(call(), ncclSuccess);
  EXPECT_EQ(recording.records().size(), 2u);
  EXPECT_EQ(recording.records().at(1)->args[1], 1u) << "the nested call took no number";
}

TEST_F(NcclWrapper, CountsWhileNothingIsRecorded) {
  call();  // from here on the communicator is known, and `count` goes the short way
  std::uint64_t expected = 1;
  for (const step::Mode mode : {step::Mode::count, step::Mode::observe, step::Mode::count}) {
    step::set_all_modes(mode);
    all_reduce_result = ncclInvalidArgument;
    EXPECT_EQ(call(), ncclInvalidArgument);
    all_reduce_result = ncclInProgress;
    EXPECT_EQ(call(), ncclInProgress);
    ++expected;  // the one that was not refused
  }
  step::set_all_modes(step::Mode::record);
  all_reduce_result = ncclSuccess;
  call();
  ASSERT_EQ(recording.records().size(), 2u);
  EXPECT_EQ(recording.records()[1]->args[1], expected);
}

using Broadcast = ncclResult_t(const void*, void*, std::size_t, ncclDataType_t, int, ncclComm_t,
                               cudaStream_t);
using Bcast = ncclResult_t(void*, std::size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
Broadcast* hooked_broadcast;
ncclResult_t real_broadcast(const void*, void*, std::size_t, ncclDataType_t, int, ncclComm_t,
                            cudaStream_t) {
  return ncclSuccess;
}
ncclResult_t real_bcast(void* buffer, std::size_t count, ncclDataType_t type, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return hooked_broadcast(buffer, buffer, count, type, root, comm, stream);
}

TEST_F(NcclWrapper, CountsABcastOnceThoughItCallsBroadcast) {
  hooked_broadcast = wrapped(Library::nccl, Function::ncclBroadcast, &real_broadcast);
  Bcast* hooked_bcast = wrapped(Library::nccl, Function::ncclBcast, &real_bcast);
  call();
  step::set_all_modes(step::Mode::count);
  for (int i = 0; i < 3; ++i) hooked_bcast(&comm, 512, ncclFloat, 0, comm, nullptr);
  step::set_all_modes(step::Mode::record);
  call();
  ASSERT_EQ(recording.records().size(), 2u);
  EXPECT_EQ(recording.records()[1]->args[1], 1u + 3);
}

// What is built in NCCL's place may make a collective of others.
TEST_F(NcclWrapper, CountsOnlyTheOuterOneOnceNestedCallsWereSeen) {
  nested = true;
  call();
  step::set_all_modes(step::Mode::count);
  nested = true;
  call();
  step::set_all_modes(step::Mode::record);
  call();
  ASSERT_EQ(recording.records().size(), 2u);
  EXPECT_EQ(recording.records()[1]->args[1], 2u) << "the nested calls took no number";
}

ncclResult_t real_group() { return ncclSuccess; }

TEST_F(NcclWrapper, KnowsCallsWithinAGroup) {
  auto* start = wrapped(Library::nccl, Function::ncclGroupStart, &real_group);
  auto* end = wrapped(Library::nccl, Function::ncclGroupEnd, &real_group);
  start();
  start();
  end();
  call();
  end();
  end();  // one too many: NCCL says so, we must not go below zero
  call();
  std::vector<bool> in_group;
  for (const event::Record* record : recording.records()) {
    if (record->layout != event::Layout::collective) continue;
    in_group.push_back((record->flags & event::flag_in_group) != 0);
  }
  EXPECT_EQ(in_group, (std::vector<bool>{true, false}));
}

}  // namespace
}  // namespace traceagent::door

#pragma once
// CUPTI's parts switched on and off one by one, as "stages", without the agent.
//
//   subscribe unsubscribe finalize  as said
//   kernels runtime driver copies  kinds of records; off-KIND switches one off
//   memory waits overhead streams contexts, others: all five
//   chosen-runtime chosen-driver  launches, chosen one by one; off-chosen-… takes that back
//   without-runtime without-driver  all but launches of a kind that is on left out, one by one
//   runtime-callbacks driver-callbacks  of launches, noting their correlation ids; off-…
//   hardware-trace  kernels' times by the GPU itself: before `kernels`
//   init  cuInit once more, as NVRTC calls it
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "cupti_library.cuh"

namespace gpu {

namespace device = traceagent::device;
using device::ActivityKind;

inline constexpr std::uint32_t most_functions = 2048;

inline void* subscriber = nullptr;
inline std::atomic<long> seen[64];

// Which correlation ids callbacks told of, by their last bits, and of how many kernels: driver's,
// runtime's.
inline constexpr std::size_t told_ids = std::size_t{1} << 22;
inline std::atomic<std::uint8_t> told[told_ids];
inline std::atomic<long> kernels_told[2];

// When kernels started, CUPTI says.
inline std::mutex starts_mutex;
inline std::vector<std::int64_t> starts_ns;

inline void complete(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  for (void* at = nullptr; cupti.next_record(buffer, valid, &at) == 0;) {
    const auto kind = device::load<std::uint32_t>(static_cast<const std::byte*>(at), 0);
    if (kind < 64) ++seen[kind];
    if (kind != static_cast<std::uint32_t>(ActivityKind::concurrent_kernel)) continue;
    const auto id = device::load<std::uint32_t>(static_cast<const std::byte*>(at),
                                                device::kernel_record::correlation);
    {
      const std::lock_guard<std::mutex> lock(starts_mutex);
      starts_ns.push_back(device::load<std::int64_t>(static_cast<const std::byte*>(at),
                                                     device::kernel_record::start));
    }
    for (int side = 0; side < 2; ++side) kernels_told[side] += told[id % told_ids] >> side & 1;
  }
  std::free(buffer);
}

// CUpti_CallbackData ends with its correlationId.
inline void note_call(void*, int domain, std::uint32_t, const void* data) {
  constexpr std::size_t correlation = 64;
  const auto id = device::load<std::uint32_t>(static_cast<const std::byte*>(data), correlation);
  told[id % told_ids] |= domain == device::cupti_domain::driver ? 1 : 2;
}

// Calls choose(id) for each function of the domain whose name says whether it launches.
inline void for_functions(bool is_driver, bool that_launch,
                          const std::function<void(std::uint32_t)>& choose) {
  for (std::uint32_t id = 1; id < most_functions; ++id) {
    const char* name = nullptr;
    const int domain = is_driver ? device::cupti_domain::driver : device::cupti_domain::runtime;
    if (cupti.get_callback_name(domain, id, &name) != 0 || name == nullptr) continue;
    if ((std::strstr(name, "Launch") != nullptr) == that_launch) choose(id);
  }
}

inline void choose_functions(bool is_driver, bool that_launch, bool on) {
  const auto choose = is_driver ? cupti.enable_driver_api : cupti.enable_runtime_api;
  if (choose == nullptr) return;
  for_functions(is_driver, that_launch, [&](std::uint32_t id) { choose(id, on ? 1 : 0); });
}

inline std::vector<ActivityKind> kinds_of(const std::string& stage) {
  if (stage == "kernels") return {ActivityKind::concurrent_kernel};
  if (stage == "runtime") return {ActivityKind::runtime};
  if (stage == "driver") return {ActivityKind::driver};
  if (stage == "copies") return {ActivityKind::copy, ActivityKind::peer_copy, ActivityKind::set};
  if (stage == "memory") return {ActivityKind::memory};
  if (stage == "waits") return {ActivityKind::synchronisation};
  if (stage == "overhead") return {ActivityKind::overhead};
  if (stage == "streams") return {ActivityKind::stream};
  if (stage == "contexts") return {ActivityKind::context};
  if (stage == "others")
    return {ActivityKind::memory, ActivityKind::synchronisation, ActivityKind::overhead,
            ActivityKind::stream, ActivityKind::context};
  return {};
}

// Kernels' times by the GPU itself, where it can do that: 0 where CUPTI says so.
inline int enable_hardware_trace() {
  void* const library = dlopen("libcupti.so.13", RTLD_NOW);
  void* const symbol = library == nullptr ? nullptr : dlsym(library, "cuptiActivityEnableHWTrace");
  return symbol == nullptr ? -1 : reinterpret_cast<int (*)(std::uint8_t)>(symbol)(1);
}

inline bool begin_or_end(const std::string& stage) {
  if (stage == "subscribe") return cupti.subscribe(&subscriber, note_call, nullptr) == 0;
  if (stage == "unsubscribe") return cupti.unsubscribe(subscriber) == 0;
  if (stage == "finalize") return finalize_cupti() == 0;
  if (stage.size() > 10 && stage.substr(stage.size() - 9) == "callbacks") {
    const bool off = stage.rfind("off-", 0) == 0,
               is_driver = stage.find("driver") != std::string::npos;
    bool is_well = true;
    for_functions(is_driver, true, [&](std::uint32_t id) {
      is_well &=
          cupti.enable_callback(
              off ? 0 : 1, subscriber,
              is_driver ? device::cupti_domain::driver : device::cupti_domain::runtime, id) == 0;
    });
    return is_well;
  }
  if (stage == "init") {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    return reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"))(0) == 0;
  }
  if (stage == "hardware-trace") return enable_hardware_trace() == 0;
  return stage == "bare" || stage == "flush";
}

inline bool enter(const std::string& stage) {
  const bool off = stage.rfind("off-", 0) == 0;
  const std::string what = off ? stage.substr(4) : stage;
  if (what == "chosen-runtime" || what == "chosen-driver") {
    choose_functions(what == "chosen-driver", true, !off);
    return true;
  }
  if (what == "without-runtime" || what == "without-driver") {
    choose_functions(what == "without-driver", false, off);
    return true;
  }
  const std::vector<ActivityKind> kinds = kinds_of(what);
  for (const ActivityKind kind : kinds) {
    const auto number = static_cast<std::uint32_t>(kind);
    if ((off ? cupti.disable(number) : cupti.enable(number)) != 0) return false;
  }
  return !kinds.empty() || begin_or_end(stage);
}

// Calls that put nothing on the device, of which frameworks make several for each launch: ns each.
inline double median_ns_of_a_cheap_call() {
  constexpr int calls = 1000, rounds = 15;
  std::vector<double> each;
  int device = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) {
      cudaGetDevice(&device);
      cudaPeekAtLastError();
      cudaSetDevice(device);
      cudaGetLastError();
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    each.push_back(took.count() / (4 * calls));
  }
  std::nth_element(each.begin(), each.begin() + rounds / 2, each.end());
  return each[rounds / 2];
}

}  // namespace gpu

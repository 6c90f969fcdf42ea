// CUPTI's own records, read at the agent's offsets, against work whose facts are known here: grid,
// sizes, order, times. Then once more with the driver's calls beside the run-time library's:
// whether a call within another has a correlation of its own. usage: cupti_records LIBCUPTI. The
// agent is not loaded.
#include <dlfcn.h>

#include <algorithm>
#include <ctime>
#include <vector>

#include "agent/device/cupti_records.hpp"
#include "gpu_program.cuh"

namespace device = traceagent::device;
using device::ActivityKind;
using device::load;

constexpr int launches = 5;
constexpr std::size_t copied_bytes = 40960, set_bytes = 8192, shared_bytes = 256;

extern "C" __global__ void known(float* data) {
  extern __shared__ float scratch[];
  scratch[threadIdx.x] = data[threadIdx.x];
  data[threadIdx.x] = scratch[threadIdx.x] + 1.0f;
}

static int wrong = 0, right = 0;
static std::vector<std::vector<std::byte>> records;
static int (*next_record)(std::uint8_t*, std::size_t, void**);

static void expect(const char* what, std::uint64_t found, std::uint64_t wanted) {
  ++(found == wanted ? right : wrong);
  if (found != wanted)
    std::printf("WRONG %s: %llu, not %llu\n", what, static_cast<unsigned long long>(found),
                static_cast<unsigned long long>(wanted));
}

static std::uint64_t realtime_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

static void request(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  *size = 1 << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *size));
  *most = 0;
}

// A record's own length is CUPTI's secret: keep what the table may look at.
static void complete(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  for (void* at = nullptr; next_record(buffer, valid, &at) == 0;) {
    const auto* bytes = static_cast<const std::byte*>(at);
    const std::size_t room =
        static_cast<std::size_t>(buffer + valid - static_cast<std::uint8_t*>(at));
    std::vector<std::byte> record(256);
    std::copy(bytes, bytes + std::min<std::size_t>(room, 256), record.begin());
    records.push_back(record);
  }
  std::free(buffer);
}

template <class Function>
static Function symbol(void* library, const char* name) {
  void* const found = dlsym(library, name);
  if (found != nullptr) return reinterpret_cast<Function>(found);
  std::fprintf(stderr, "no %s\n", name);
  std::exit(6);
}

static void work() {
  float *data = nullptr, *host = nullptr;
  CHECK(cudaMalloc(&data, copied_bytes));
  CHECK(cudaMallocHost(&host, copied_bytes));
  for (int i = 0; i < launches; ++i) known<<<dim3(3, 2, 1), dim3(32, 2, 1), shared_bytes>>>(data);
  CHECK(cudaMemcpyAsync(data, host, copied_bytes, cudaMemcpyHostToDevice, nullptr));
  CHECK(cudaMemsetAsync(data, 0, set_bytes, nullptr));
  CHECK(cudaDeviceSynchronize());
}

static void check_kernel(const std::byte* record, std::uint64_t begin, std::uint64_t end) {
  namespace at = device::kernel_record;
  const std::uint64_t wanted[] = {3, 2, 1, 32, 2, 1};
  for (std::size_t i = 0; i < 6; ++i)
    expect("grid and block", load<std::uint32_t>(record, at::grid + 4 * i), wanted[i]);
  expect("dynamic shared", load<std::uint32_t>(record, at::dynamic_shared), shared_bytes);
  expect("device", load<std::uint32_t>(record, at::device), 0);
  expect("name", std::string(load<const char*>(record, at::name)) == "known", 1);
  expect("registers", load<std::uint16_t>(record, at::registers) > 0, 1);
  const auto started = load<std::uint64_t>(record, at::start),
             ended = load<std::uint64_t>(record, at::end);
  expect("kernel's times are CLOCK_REALTIME", begin < started && started < ended && ended < end, 1);
}

template <class At>
static void check_transfer(const std::byte* record, const At& at, std::uint64_t bytes,
                           std::uint64_t begin, std::uint64_t end) {
  expect("bytes", load<std::uint64_t>(record, at.bytes), bytes);
  expect("device", load<std::uint32_t>(record, at.device), 0);
  const auto started = load<std::uint64_t>(record, at.start),
             ended = load<std::uint64_t>(record, at.end);
  expect("transfer's times are CLOCK_REALTIME", begin < started && started <= ended && ended < end,
         1);
}

struct TransferPlaces {
  std::size_t bytes, device, start, end;
};

static void check_records(std::uint64_t begin, std::uint64_t end) {
  int kernels = 0, copies = 0, sets = 0, calls = 0;
  std::map<std::uint32_t, int> of_calls;
  std::vector<std::uint32_t> of_work;
  for (const auto& bytes : records) {
    const std::byte* record = bytes.data();
    const auto kind = load<ActivityKind>(record, 0);
    if (kind == ActivityKind::concurrent_kernel) {
      ++kernels;
      check_kernel(record, begin, end);
      of_work.push_back(load<std::uint32_t>(record, device::kernel_record::correlation));
    } else if (kind == ActivityKind::copy) {
      namespace at = device::copy_record;
      ++copies;
      check_transfer(record, TransferPlaces{at::bytes, at::device, at::start, at::end},
                     copied_bytes, begin, end);
      expect("direction", load<std::uint8_t>(record, at::copy_kind), 1);
      expect("pinned to device",
             load<std::uint8_t>(record, at::from_kind) == 2 &&
                 load<std::uint8_t>(record, at::to_kind) == 3,
             1);
      of_work.push_back(load<std::uint32_t>(record, at::correlation));
    } else if (kind == ActivityKind::set) {
      namespace at = device::set_record;
      ++sets;
      check_transfer(record, TransferPlaces{at::bytes, at::device, at::start, at::end}, set_bytes,
                     begin, end);
      of_work.push_back(load<std::uint32_t>(record, at::correlation));
    } else if (kind == ActivityKind::runtime) {
      namespace at = device::api_record;
      ++calls;
      ++of_calls[load<std::uint32_t>(record, at::correlation)];
      expect("call's times",
             load<std::uint64_t>(record, at::start) <= load<std::uint64_t>(record, at::end), 1);
      expect("result", load<std::uint32_t>(record, at::result), 0);
    }
  }
  for (const std::uint32_t correlation : of_work)
    expect("one call of each correlation", static_cast<std::uint64_t>(of_calls[correlation]), 1);
  expect("kernels", static_cast<std::uint64_t>(kernels), launches);
  expect("copies", static_cast<std::uint64_t>(copies), 1);
  expect("sets", static_cast<std::uint64_t>(sets), 1);
  std::printf("kernels %d copies %d sets %d calls %d\nfields %d wrong %d\n", kernels, copies, sets,
              calls, right, wrong);
}

struct ApiCall {
  std::uint64_t start, end;
  std::uint32_t thread, correlation;
  bool encloses(const ApiCall& other) const {
    return thread == other.thread && start <= other.start && other.end <= end;
  }
};

static std::vector<ApiCall> calls_of(ActivityKind kind) {
  namespace at = device::api_record;
  std::vector<ApiCall> calls;
  for (const auto& bytes : records) {
    const std::byte* record = bytes.data();
    if (load<ActivityKind>(record, 0) != kind) continue;
    calls.push_back({load<std::uint64_t>(record, at::start), load<std::uint64_t>(record, at::end),
                     load<std::uint32_t>(record, at::thread),
                     load<std::uint32_t>(record, at::correlation)});
  }
  return calls;
}

static int kernels_of(const std::vector<ApiCall>& calls) {
  int kernels = 0;
  for (const auto& bytes : records) {
    const std::byte* record = bytes.data();
    if (load<ActivityKind>(record, 0) != ActivityKind::concurrent_kernel) continue;
    const auto wanted = load<std::uint32_t>(record, device::kernel_record::correlation);
    kernels += std::any_of(calls.begin(), calls.end(),
                           [&](const ApiCall& call) { return call.correlation == wanted; });
  }
  return kernels;
}

// Nothing here is right or wrong: versions of CUPTI may differ.
static void print_nested_calls() {
  const std::vector<ApiCall> outer = calls_of(ActivityKind::runtime),
                             inner = calls_of(ActivityKind::driver);
  int nested = 0, sharing = 0;
  for (const ApiCall& call : inner) {
    const auto found = std::find_if(outer.begin(), outer.end(),
                                    [&](const ApiCall& each) { return each.encloses(call); });
    nested += found != outer.end();
    sharing += found != outer.end() && found->correlation == call.correlation;
  }
  std::printf("driver %zu nested %d sharing %d\nof_runtime %d of_driver %d\n", inner.size(), nested,
              sharing, kernels_of(outer), kernels_of(inner));
}

int main(int argc, char** argv) {
  void* const cupti = dlopen(argc > 1 ? argv[1] : "libcupti.so.13", RTLD_NOW);
  if (cupti == nullptr) return 77;
  next_record = symbol<decltype(next_record)>(cupti, "cuptiActivityGetNextRecord");
  symbol<int (*)(decltype(&request), decltype(&complete))>(cupti, "cuptiActivityRegisterCallbacks")(
      request, complete);
  const auto enable = symbol<int (*)(std::uint32_t)>(cupti, "cuptiActivityEnable");
  for (const ActivityKind kind : {ActivityKind::concurrent_kernel, ActivityKind::copy,
                                  ActivityKind::set, ActivityKind::runtime}) {
    const int result = enable(static_cast<std::uint32_t>(kind));
    if (result != 0)
      std::printf("WRONG cuptiActivityEnable(%u): %d\n", static_cast<unsigned>(kind), result),
          ++wrong;
  }
  const std::uint64_t begin = realtime_ns();
  work();
  const auto flush = symbol<int (*)(std::uint32_t)>(cupti, "cuptiActivityFlushAll");
  flush(1);
  check_records(begin, realtime_ns() + 1'000'000);
  records.clear();
  const int result = enable(static_cast<std::uint32_t>(ActivityKind::driver));
  if (result != 0) std::printf("cuptiActivityEnable(driver): %d\n", result);
  work();
  flush(1);
  print_nested_calls();
  return wrong == 0 ? 0 : 1;
}

// A libnvidia-ml.so.1 whose values are known: they depend on the GPU's index and on how often that
// value of it has been asked for. SIMGPU_NVML holds words that change it:
//   gpus=N                 how many there are; 2
//   init=ERROR             what nvmlInit_v2 returns
//   init_cpu=MS            what it takes of a CPU
//   not_supported=FUNCTION returns NVML_ERROR_NOT_SUPPORTED
//   unknown=FUNCTION:N     returns NVML_ERROR_UNKNOWN the Nth time for each GPU, from 0
//   slow=FUNCTION:MS       takes so long to return
//   hang=FUNCTION:N        never returns, from the Nth time on
//   lost=GPU:N             from its Nth utilisation on every call for it returns
//   NVML_ERROR_GPU_IS_LOST
//   answers=FILE           holds how often GPU 0 has told its power: a number that outlives a kill
#include "agent/counters/nvml.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

namespace {

using namespace traceagent::counters::nvml;

constexpr Result uninitialized = 1, unknown_error = 999;
constexpr unsigned most_gpus = 16;
constexpr std::uint64_t mib = 1 << 20, gib = 1 << 30;

struct Gpu {
  std::atomic<bool> is_lost{false};
};
std::array<Gpu, most_gpus> gpus;
std::atomic<bool> is_initialised{false};

unsigned index_of(Device device) {
  return static_cast<unsigned>(static_cast<Gpu*>(device) - gpus.data());
}

// What follows `word=` in the script; "" where it is not there.
std::string told(const std::string& word) {
  const char* text = std::getenv("SIMGPU_NVML");
  const std::string script = std::string(" ") + (text != nullptr ? text : "") + " ";
  const std::size_t at = script.find(" " + word + "=");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + word.size() + 2;
  return script.substr(begin, script.find(' ', begin) - begin);
}

// Is FUNCTION:N told under `word`, for this function? -1: no.
long told_number(const std::string& word, const std::string& function) {
  const std::string value = told(word);
  const std::size_t colon = value.find(':');
  if (colon == std::string::npos || value.substr(0, colon) != function) return -1;
  return std::atol(value.c_str() + colon + 1);
}

long thread_cpu_ms() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
}

// The function's own faults, before it answers for the `number`th time.
Result fault_of(const char* function, Device device, long number) {
  if (!is_initialised) return uninitialized;
  if (told("not_supported") == function) return not_supported;
  if (told_number("unknown", function) == number) return unknown_error;
  const long slow_ms = told_number("slow", function);
  if (slow_ms > 0) usleep(static_cast<useconds_t>(slow_ms * 1000));
  const long hang = told_number("hang", function);
  while (hang >= 0 && number >= hang) pause();
  const std::string lost = told("lost");
  if (!lost.empty() && std::strcmp(function, "nvmlDeviceGetUtilizationRates") == 0) {
    const bool is_this = static_cast<unsigned>(std::atoi(lost.c_str())) == index_of(device);
    if (is_this && number >= std::atol(lost.c_str() + lost.find(':') + 1)) {
      static_cast<Gpu*>(device)->is_lost = true;
    }
  }
  return static_cast<Gpu*>(device)->is_lost ? gpu_is_lost : success;
}

void note_answers(std::uint64_t count) {
  static const int file =
      open(told("answers").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file >= 0 && pwrite(file, &count, sizeof count, 0) < 0) std::abort();
}

using Calls = std::array<std::atomic<long>, most_gpus>;

// `answer(gpu, number)`, where nothing is wrong.
template <class Answer>
Result answered(const char* function, Device device, Calls& calls, Answer answer) {
  const unsigned gpu = index_of(device);
  const long number = calls[gpu]++;
  const Result result = fault_of(function, device, number);
  if (result == success) answer(gpu, static_cast<unsigned>(number));
  return result;
}

}  // namespace

#define SIMGPU_API extern "C" __attribute__((visibility("default"))) Result

SIMGPU_API nvmlInit_v2() {
  const long cpu_ms = std::atol(told("init_cpu").c_str());
  while (thread_cpu_ms() < cpu_ms) {
  }
  const std::string refused = told("init");
  if (!refused.empty()) return std::atoi(refused.c_str());
  is_initialised = true;
  return success;
}

SIMGPU_API nvmlDeviceGetCount_v2(unsigned* count) {
  if (!is_initialised) return uninitialized;
  const std::string asked = told("gpus");
  *count = asked.empty() ? 2 : static_cast<unsigned>(std::atoi(asked.c_str()));
  return success;
}

SIMGPU_API nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  if (!is_initialised) return uninitialized;
  *device = &gpus.at(index);
  return success;
}

SIMGPU_API nvmlDeviceGetName(Device, char* name, unsigned size) {
  std::snprintf(name, size, "Simulated \"GPU\"");
  return success;
}

SIMGPU_API nvmlDeviceGetUUID(Device device, char* uuid, unsigned size) {
  std::snprintf(uuid, size, "GPU-%08x", index_of(device));
  return success;
}

SIMGPU_API nvmlDeviceGetPciInfo_v3(Device device, PciInfo* pci) {
  std::snprintf(pci->bus_id.data(), pci->bus_id.size(), "00000000:%02X:00.0", index_of(device) + 1);
  return success;
}

SIMGPU_API nvmlDeviceGetUtilizationRates(Device device, Utilization* rates) {
  static Calls calls;
  return answered(__func__, device, calls, [&](unsigned gpu, unsigned number) {
    *rates = {(number + gpu) % 100, (number + 10 * gpu) % 100};
  });
}

SIMGPU_API nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
  static Calls calls;
  return answered(__func__, device, calls, [&](unsigned gpu, unsigned number) {
    const std::uint64_t used = (gpu + 1) * gib + number * mib;
    *memory = {80 * gib, 80 * gib - used, used};
  });
}

SIMGPU_API nvmlDeviceGetPowerUsage(Device device, unsigned* milliwatts) {
  static Calls calls;
  return answered(__func__, device, calls, [&](unsigned gpu, unsigned number) {
    *milliwatts = 100'500 * (gpu + 1) + number * 1000;
    if (gpu == 0) note_answers(number + 1);
  });
}

SIMGPU_API nvmlDeviceGetClockInfo(Device device, int type, unsigned* mhz) {
  static Calls calls;
  return answered(__func__, device, calls,
                  [&](unsigned gpu, unsigned) { *mhz = 1000 * static_cast<unsigned>(type) + gpu; });
}

SIMGPU_API nvmlDeviceGetTemperature(Device device, int, unsigned* celsius) {
  static Calls calls;
  return answered(__func__, device, calls, [&](unsigned gpu, unsigned) { *celsius = 40 + gpu; });
}

// The first GPU by its power limit, the others idle.
SIMGPU_API nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* reasons) {
  static Calls calls;
  return answered(__func__, device, calls, [&](unsigned gpu, unsigned) {
    *reasons = gpu == 0 ? reason_power_cap : reason_idle;
  });
}

#include "agent/counters/gpu_source.hpp"

#include <algorithm>
#include <array>

#include "agent/event/fork_hold.hpp"
#include "agent/event/ticks.hpp"

namespace traceagent::counters {
namespace {

using nvml::Device;
using nvml::Functions;
using nvml::Result;

constexpr unsigned most_gpus = 64;

// A fork waits for it: NVML's lock, held by a thread that a child has not got, would be held there
// for ever.
template <class Function, class... Arguments>
Result call(Function* function, Arguments... arguments) noexcept {
  if (function == nullptr) return nvml::function_not_found;
  const event::ForkHold hold;
  return function(arguments...);
}

Result read_utilisation(const Functions& nvml, Device device, Sample& sample) noexcept {
  nvml::Utilization got{};
  const Result result = call(nvml.get_utilization, device, &got);
  if (result != nvml::success) return result;
  sample.set(0, got.gpu);
  sample.set(1, got.memory);
  return result;
}

Result read_memory(const Functions& nvml, Device device, Sample& sample) noexcept {
  nvml::Memory got{};
  const Result result = call(nvml.get_memory, device, &got);
  if (result != nvml::success) return result;
  sample.set(0, got.used);
  sample.set(1, got.total);
  return result;
}

Result read_power(const Functions& nvml, Device device, Sample& sample) noexcept {
  unsigned milliwatts = 0;
  const Result result = call(nvml.get_power, device, &milliwatts);
  if (result == nvml::success) sample.set(0, milliwatts);
  return result;
}

Result read_clocks(const Functions& nvml, Device device, Sample& sample) noexcept {
  unsigned mhz = 0;
  Result result = call(nvml.get_clock, device, nvml::clock_sm, &mhz);
  if (result != nvml::success) return result;
  sample.set(0, mhz);
  if (call(nvml.get_clock, device, nvml::clock_memory, &mhz) == nvml::success) sample.set(1, mhz);
  return result;
}

Result read_temperature(const Functions& nvml, Device device, Sample& sample) noexcept {
  unsigned celsius = 0;
  const Result result = call(nvml.get_temperature, device, nvml::sensor_gpu, &celsius);
  if (result == nvml::success) sample.set(0, celsius);
  return result;
}

Result read_throttled(const Functions& nvml, Device device, Sample& sample) noexcept {
  using namespace nvml;
  unsigned long long reasons = 0;
  const Result result = call(nvml.get_reasons, device, &reasons);
  if (result != success) return result;
  const std::array<std::uint64_t, 4> groups = {
      reason_power_cap | reason_power_brake, reason_heat | reason_hardware_heat,
      reason_hardware | reason_hardware_heat | reason_power_brake,
      reason_application_clocks | reason_sync_boost | reason_display};
  for (std::size_t i = 0; i < groups.size(); ++i) sample.set(i, (reasons & groups[i]) != 0 ? 1 : 0);
  return result;
}

struct Reader {
  Counter counter;
  Result (*read)(const Functions&, Device, Sample&) noexcept;
};
constexpr std::array<Reader, 6> readers = {{{Counter::gpu_utilisation, read_utilisation},
                                            {Counter::gpu_memory, read_memory},
                                            {Counter::gpu_power, read_power},
                                            {Counter::gpu_clocks, read_clocks},
                                            {Counter::gpu_temperature, read_temperature},
                                            {Counter::gpu_throttled, read_throttled}}};

// Inside a JSON string, whatever a driver says.
template <std::size_t size>
std::string printable(const std::array<char, size>& text) {
  std::string shown;
  for (const char c : text) {
    if (c == '\0') break;
    shown += c < ' ' || c > '~' || c == '"' || c == '\\' ? '?' : c;
  }
  return shown;
}

std::string name_of(std::uint32_t index) { return "GPU " + std::to_string(index); }

}  // namespace

void GpuSource::open(Recorder& recorder) noexcept try {
  if (state_ != State::unopened || !nvml::has_driver(look_up_)) return;
  const nvml::Library library = nvml::open(look_up_);
  state_ = library.problem.empty() ? State::open : State::refused;
  if (state_ == State::refused) return recorder.not_covered("GPU counters: " + library.problem);
  take(library.functions, recorder);
} catch (...) {
  // No memory: what has not been found is not sampled.
}

void GpuSource::take(const nvml::Functions& functions, Recorder& recorder) {
  functions_ = functions;
  if (is_stopped()) return;
  unsigned count = 0;
  if (const Result result = call(functions_.get_count, &count); result != nvml::success) {
    recorder.not_covered("GPU counters: nvmlDeviceGetCount_v2 fails with NVML error " +
                         std::to_string(result));
  } else if (count < ranks_) {
    // A launcher may have given each rank a GPU that the others cannot open.
    recorder.not_covered("GPU counters: local rank zero sees " + std::to_string(count) +
                         (count == 1 ? " GPU" : " GPUs") + ", the node has " +
                         std::to_string(ranks_) + " ranks");
  }
  for (std::uint32_t i = 0; i < std::min(count, most_gpus) && !is_stopped(); ++i) {
    Gpu gpu{i, nullptr};
    const Result result = call(functions_.get_device, i, &gpu.device);
    if (result != nvml::success) {
      recorder.not_covered(name_of(i) + ": NVML error " + std::to_string(result));
      continue;
    }
    gpus_.push_back(gpu);
    describe(gpu, recorder);
  }
}

// NVML counts by PCI bus, CUDA may count otherwise: these ids tell which is which.
void GpuSource::describe(const Gpu& gpu, Recorder& recorder) const {
  std::array<char, 96> name{}, uuid{};
  nvml::PciInfo pci{};
  call(functions_.get_name, gpu.device, name.data(), static_cast<unsigned>(name.size()));
  call(functions_.get_uuid, gpu.device, uuid.data(), static_cast<unsigned>(uuid.size()));
  call(functions_.get_pci, gpu.device, &pci);
  recorder.gpu(gpu.index, R"({"index": )" + std::to_string(gpu.index) + R"(, "name": ")" +
                              printable(name) + R"(", "uuid": ")" + printable(uuid) +
                              R"(", "pci": ")" + printable(pci.bus_id) + R"("})");
}

void GpuSource::sample(Recorder& recorder) noexcept try {
  for (Gpu& gpu : gpus_) sample(gpu, recorder);
} catch (...) {
  // No memory: a gap.
}

void GpuSource::sample(Gpu& gpu, Recorder& recorder) {
  for (std::size_t i = 0; i < readers.size(); ++i) {
    if (gpu.is_lost || is_stopped()) return;
    if ((gpu.left_out >> i & 1) != 0) continue;
    Sample sample{readers[i].counter, 0, gpu.index, {}};
    const std::uint64_t ticks = event::read_ticks();
    const Result result = readers[i].read(functions_, gpu.device, sample);
    if (result == nvml::success) {
      recorder.put(sample, ticks);
    } else {
      give_up(gpu, i, result, recorder);
    }
  }
}

// What was refused once for good is not asked again; other errors are a gap.
void GpuSource::give_up(Gpu& gpu, std::size_t reader, Result result, Recorder& recorder) const {
  const std::string name = name_of(gpu.index);
  const std::string counter(row_of(readers[reader].counter).name);
  switch (result) {
    case nvml::not_supported:
    case nvml::function_not_found:
      gpu.left_out |= 1u << reader;
      return recorder.not_covered(name + " " + counter + ": not supported");
    case nvml::no_permission:
      gpu.left_out |= 1u << reader;
      return recorder.not_covered(name + " " + counter + ": no permission");
    case nvml::gpu_is_lost:
    case nvml::reset_required:
      gpu.is_lost = true;
      return recorder.not_covered(name + ": lost (NVML error " + std::to_string(result) + ")");
    default:
      return recorder.not_covered(name + " " + counter + ": NVML error " + std::to_string(result) +
                                  " in some samples");
  }
}

}  // namespace traceagent::counters

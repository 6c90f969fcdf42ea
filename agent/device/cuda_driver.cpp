#include "agent/device/cuda_driver.hpp"

#include <dlfcn.h>

#include <array>

#include "agent/event/fork_hold.hpp"

namespace traceagent::device {
namespace {

// CUdevice_attribute.
constexpr int warp_size = 10;
constexpr int multiprocessor_count = 16;
constexpr int threads_per_multiprocessor = 39;
constexpr int compute_major = 75;
constexpr int compute_minor = 76;
constexpr int shared_memory_per_multiprocessor = 81;
constexpr int registers_per_multiprocessor = 82;
constexpr int blocks_per_multiprocessor = 106;
constexpr int reserved_shared_memory_per_block = 111;
struct Property {
  const char* key;
  int attribute;
};
constexpr std::array<Property, 8> properties = {{
    {"computeMajor", compute_major},
    {"computeMinor", compute_minor},
    {"maxThreadsPerBlock", 1},
    {"maxThreadsPerMultiprocessor", threads_per_multiprocessor},
    {"regsPerBlock", 12},
    {"warpSize", warp_size},
    {"sharedMemPerBlock", 8},
    {"numSms", multiprocessor_count},
}};

template <class Function>
void bind(Function*& function, void* handle, LookUp look_up, const char* symbol) noexcept {
  function = reinterpret_cast<Function*>(look_up(handle, symbol));
}

std::string quoted(const char* text) {
  std::string quoted = "\"";
  for (; *text != '\0'; ++text) {
    if (*text == '"' || *text == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(*text) < 0x20 ? ' ' : *text;
  }
  return quoted + '"';
}

}  // namespace

void CudaDriver::look(LookUp look_up) noexcept {
  if (is_loaded()) return;
  const event::ForkHold hold;
  void* handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return;
  bind(get_version_, handle, look_up, "cuDriverGetVersion");
  bind(get_device_, handle, look_up, "cuDeviceGet");
  bind(get_name_, handle, look_up, "cuDeviceGetName");
  bind(get_memory_, handle, look_up, "cuDeviceTotalMem_v2");
  bind(get_attribute_, handle, look_up, "cuDeviceGetAttribute");
  bind(get_primary_state_, handle, look_up, "cuDevicePrimaryCtxGetState");
  bind(get_count_, handle, look_up, "cuDeviceGetCount");
  // The handle is kept: what we bound must stay.
}

bool CudaDriver::is_initialised() const noexcept {
  int count = 0;
  return get_count_ != nullptr && get_count_(&count) == 0 && count > 0;
}

int CudaDriver::cuda_major() const noexcept {
  int version = 0;
  return get_version_ != nullptr && get_version_(&version) == 0 ? version / 1000 : 0;
}

std::uint64_t CudaDriver::devices_in_use() const noexcept {
  int count = 0;
  std::uint64_t devices = 0;
  if (get_count_ == nullptr || get_primary_state_ == nullptr || get_device_ == nullptr) return 0;
  if (get_count_(&count) != 0) return 0;
  for (int number = 0; number < count && number < 64; ++number) {
    int device = 0;
    unsigned flags = 0;
    int is_active = 0;
    if (get_device_(&device, number) != 0) continue;
    if (get_primary_state_(device, &flags, &is_active) != 0 || is_active == 0) continue;
    devices |= std::uint64_t{1} << number;
  }
  return devices;
}

std::int64_t CudaDriver::attribute(int device, int number) const noexcept {
  int value = 0;
  return get_attribute_ != nullptr && get_attribute_(&value, number, device) == 0 ? value : 0;
}

DeviceShape CudaDriver::shape(int number) const noexcept {
  int device = 0;
  if (get_device_ == nullptr || get_device_(&device, number) != 0) return {};
  const auto value = [&](int number_of_attribute) {
    return static_cast<std::int32_t>(attribute(device, number_of_attribute));
  };
  return {.multiprocessors = value(multiprocessor_count),
          .warp_size = value(warp_size),
          .compute_major = value(compute_major),
          .compute_minor = value(compute_minor),
          .threads = value(threads_per_multiprocessor),
          .blocks = value(blocks_per_multiprocessor),
          .registers = value(registers_per_multiprocessor),
          .shared_bytes = value(shared_memory_per_multiprocessor),
          .reserved_shared_bytes = value(reserved_shared_memory_per_block)};
}

std::string CudaDriver::properties_of(int number) const {
  int device = 0;
  if (get_device_ == nullptr || get_device_(&device, number) != 0) return {};
  std::array<char, 256> name{};
  std::size_t memory = 0;
  if (get_name_ != nullptr) get_name_(name.data(), name.size() - 1, device);
  if (get_memory_ != nullptr) get_memory_(&memory, device);
  std::string json = "{\"id\": " + std::to_string(number) + ", \"name\": " + quoted(name.data()) +
                     ", \"totalGlobalMem\": " + std::to_string(memory);
  for (const Property& property : properties) {
    json += std::string(", \"") + property.key +
            "\": " + std::to_string(attribute(device, property.attribute));
  }
  return json + '}';
}

std::string CudaDriver::properties_json(std::uint64_t devices) const {
  constexpr std::size_t most_bytes = 4000;
  std::string json;
  for (int number = 0; number < 64; ++number) {
    if ((devices >> number & 1) == 0) continue;
    const std::string entry = properties_of(number);
    if (entry.empty() || json.size() + entry.size() + 3 > most_bytes) continue;
    json += (json.empty() ? "[" : ", ") + entry;
  }
  return json.empty() ? json : json + ']';
}

}  // namespace traceagent::device

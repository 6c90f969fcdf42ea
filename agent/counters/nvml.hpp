#pragma once
// NVIDIA's management library, as much of it as is asked: its documented functions, which keep
// their names and types within a major version.

#include <array>
#include <cstdint>
#include <string>

namespace traceagent::counters {

// The true dlsym: ours is interposed, and this folder must not come back through the door.
using LookUp = void* (*)(void* handle, const char* symbol);

namespace nvml {

using Result = int;
// nvmlReturn_t.
inline constexpr Result success = 0, not_supported = 3, no_permission = 4, function_not_found = 13,
                        gpu_is_lost = 15, reset_required = 16;

using Device = void*;

struct Utilization {  // nvmlUtilization_t, in percent
  unsigned gpu, memory;
};
struct Memory {  // nvmlMemory_t, in bytes
  unsigned long long total, free, used;
};
struct PciInfo {  // nvmlPciInfo_t as nvmlDeviceGetPciInfo_v3 fills it
  std::array<char, 16> legacy_bus_id;
  unsigned domain, bus, device, device_id, subsystem_id;
  std::array<char, 32> bus_id;
};

// nvmlClockType_t, nvmlTemperatureSensors_t
inline constexpr int clock_sm = 1, clock_memory = 2;
inline constexpr int sensor_gpu = 0;

// nvmlClocksEventReasons, once nvmlClocksThrottleReasons: one bit each.
inline constexpr std::uint64_t reason_idle = 0x1, reason_application_clocks = 0x2,
                               reason_power_cap = 0x4, reason_hardware = 0x8,
                               reason_sync_boost = 0x10, reason_heat = 0x20,
                               reason_hardware_heat = 0x40, reason_power_brake = 0x80,
                               reason_display = 0x100;

// member, symbol, parameters
#define TRACEAGENT_NVML_FUNCTIONS(FUNCTION)                                          \
  FUNCTION(init, "nvmlInit_v2", ())                                                  \
  FUNCTION(get_count, "nvmlDeviceGetCount_v2", (unsigned*))                          \
  FUNCTION(get_device, "nvmlDeviceGetHandleByIndex_v2", (unsigned, Device*))         \
  FUNCTION(get_name, "nvmlDeviceGetName", (Device, char*, unsigned))                 \
  FUNCTION(get_uuid, "nvmlDeviceGetUUID", (Device, char*, unsigned))                 \
  FUNCTION(get_pci, "nvmlDeviceGetPciInfo_v3", (Device, PciInfo*))                   \
  FUNCTION(get_utilization, "nvmlDeviceGetUtilizationRates", (Device, Utilization*)) \
  FUNCTION(get_memory, "nvmlDeviceGetMemoryInfo", (Device, Memory*))                 \
  FUNCTION(get_power, "nvmlDeviceGetPowerUsage", (Device, unsigned*))                \
  FUNCTION(get_clock, "nvmlDeviceGetClockInfo", (Device, int, unsigned*))            \
  FUNCTION(get_temperature, "nvmlDeviceGetTemperature", (Device, int, unsigned*))    \
  FUNCTION(get_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons", (Device, unsigned long long*))

struct Functions {
#define TRACEAGENT_MEMBER(member, symbol, parameters) Result(*member) parameters = nullptr;
  TRACEAGENT_NVML_FUNCTIONS(TRACEAGENT_MEMBER)
#undef TRACEAGENT_MEMBER
};

struct Library {
  Functions functions;
  std::string problem;  // empty: it is open
};

// Is libcuda.so.1 loaded, and initialised by the job? Never loaded by us.
bool has_driver(LookUp look_up) noexcept;
// Never closed again.
Library open(LookUp look_up);

}  // namespace nvml
}  // namespace traceagent::counters

#pragma once
// Whether a disk or a network interface counts, as /sys tells.

#include <string>
#include <string_view>

#include "agent/counters/device_totals.hpp"

namespace traceagent::counters {

struct ClassAnswer {
  DeviceClass device_class = DeviceClass::none;
  int error = 0;  // why it could not be asked: then it is none, and its bytes are missing
};

// `root` goes before all paths.
ClassAnswer class_of_disk(const std::string& root, std::string_view name);
ClassAnswer class_of_interface(const std::string& root, std::string_view name);

}  // namespace traceagent::counters

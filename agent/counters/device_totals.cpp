#include "agent/counters/device_totals.hpp"

#include <algorithm>

namespace traceagent::counters {

void DeviceTotals::begin_round() noexcept {
  std::erase_if(devices_, [](const Device& device) { return !device.is_in_round; });
  for (Device& device : devices_) device.is_in_round = false;
  went_back_ = leaves_out_ = false;
}

DeviceTotals::Device* DeviceTotals::find(std::string_view name) noexcept {
  const auto found = std::find_if(devices_.begin(), devices_.end(),
                                  [name](const Device& device) { return device.name == name; });
  return found == devices_.end() ? nullptr : &*found;
}

void DeviceTotals::grow(Device& device, const Bytes& bytes) noexcept {
  const Bytes before = device.latest;
  device.latest = bytes;
  device.is_in_round = true;
  const bool counts = device.device_class == DeviceClass::device ||
                      (device.device_class == DeviceClass::interface && !has_real_);
  if (!counts) return;
  Bytes& totals = has_real_ ? real_ : virtual_;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] < before[i]) {
      went_back_ = true;
    } else {
      totals[i] += bytes[i] - before[i];
    }
  }
}

}  // namespace traceagent::counters

#include "agent/counters/device_totals.hpp"

#include <algorithm>

namespace traceagent::counters {

bool DeviceTotals::has_any() const noexcept {
  return std::any_of(devices_.begin(), devices_.end(),
                     [](const Device& device) { return device.device_class != DeviceClass::none; });
}

DeviceTotals::Device* DeviceTotals::find(std::string_view name) noexcept {
  const auto found = std::find_if(devices_.begin(), devices_.end(),
                                  [name](const Device& device) { return device.name == name; });
  return found == devices_.end() ? nullptr : &*found;
}

void DeviceTotals::grow(Device& device, const Bytes& bytes) noexcept {
  const Bytes before = device.latest;
  device.latest = bytes;
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

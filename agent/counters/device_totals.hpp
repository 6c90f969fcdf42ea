#pragma once
// The sum of what many devices count, as a total that only ever grows by what they did.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace traceagent::counters {

// Of a device that counts.
enum class DeviceClass : std::uint8_t {
  none,      // its bytes are counted elsewhere: a partition, a bridge
  device,    // real
  interface  // counts where there is no real one
};

class DeviceTotals {
 public:
  using Bytes = std::array<std::uint64_t, 2>;

  // What was not in the round before has gone: another device may be given its name.
  void begin_round() noexcept;
  // `class_of(name)` is asked once for a device. One that is new adds nothing yet; one that went
  // backwards (a 32-bit counter that wrapped, a device that was reset) spoils the round.
  template <class ClassOf>
  void add(std::string_view name, const Bytes& bytes, ClassOf&& class_of) {
    Device* device = find(name);
    if (device == nullptr) {
      if (devices_.size() == most_devices) {
        leaves_out_ = true;
        return;
      }
      devices_.push_back({std::string(name), bytes, class_of(name), true});
      has_any_ = has_any_ || devices_.back().device_class != DeviceClass::none;
      has_real_ = has_real_ || devices_.back().device_class == DeviceClass::device;
      return;
    }
    grow(*device, bytes);
  }
  // False: the total is not to be believed, in this round.
  bool is_good() const noexcept { return !went_back_; }
  // Ever: where all have gone, nothing is received.
  bool has_any() const noexcept { return has_any_; }
  // There were more in this round than are followed.
  bool leaves_out() const noexcept { return leaves_out_; }
  static constexpr std::size_t most_devices = 1024;
  const Bytes& totals() const noexcept { return has_real_ ? real_ : virtual_; }

 private:
  struct Device {
    std::string name;
    Bytes latest;
    DeviceClass device_class;
    bool is_in_round;
  };
  Device* find(std::string_view name) noexcept;
  void grow(Device& device, const Bytes& bytes) noexcept;

  std::vector<Device> devices_;
  Bytes real_{}, virtual_{};
  bool has_any_ = false, has_real_ = false;
  bool went_back_ = false;
  bool leaves_out_ = false;
};

}  // namespace traceagent::counters

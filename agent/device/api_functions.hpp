#pragma once
// CUPTI's numbers for the functions of CUDA: their names, and which of them are worth a record.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/device/cupti_functions.hpp"
#include "agent/ring/ring.hpp"

namespace traceagent::device {

// What a call means for the device, by its name without suffixes.
enum class ApiUse : std::uint8_t {
  unnamed,        // CUPTI has no function of that number
  none,           // not recorded: thousands a step, nothing on the device
  other,          // recorded: waits, allocations
  work,           // launches or enqueues: device work with its correlation id follows
  begin_capture,  // until the end, launches of this thread go into a graph and not to the device
  end_capture,
};
ApiUse use_of(std::string_view name) noexcept;

// "cudaLaunchKernel_ptsz_v7000" → "cudaLaunchKernel", and so "__cudaLaunchKernel_v13000", which is
// what programs built by nvcc 13 call.
std::string_view plain_name(std::string_view name) noexcept;

class ApiFunctions {
 public:
  // More than any version has by far: 13.0 has some 500 and 800.
  static constexpr std::uint32_t most = 2048;

  // Asks the library for its names. Without them everything is recorded, under numbers.
  void learn(const CuptiFunctions& functions);

  bool is_selected(bool is_driver, std::uint32_t id) const noexcept;
  // Offset in the ring's names; added at first use.
  std::uint32_t name(bool is_driver, std::uint32_t id, const ring::Ring& ring) noexcept;

  // Ids of one domain whose records nobody needs: visit(id). None where no name is known.
  template <class Visit>
  void for_each_left_out(bool is_driver, Visit&& visit) const {
    if (!known_) return;
    for (std::uint32_t id = 1; id < most; ++id) {
      if (sides_[is_driver].uses[id] == ApiUse::none) visit(id);
    }
  }

 private:
  struct Side {
    std::array<ApiUse, most> uses{};
    std::array<std::atomic<std::uint32_t>, most> offsets{};
  };
  CuptiResult (*get_name_)(int, std::uint32_t, const char**) = nullptr;
  std::array<Side, 2> sides_{};  // runtime, driver
  bool known_ = false;
};

}  // namespace traceagent::device

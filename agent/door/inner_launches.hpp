#pragma once
// Launches through the driver that libcudart makes of a launch of the job's. Step detection has
// heard of the job's call, and must not hear of them. A call that is told or recorded leaves its
// stack address for what it makes (CudaFrame); one that only passes leaves nothing, or it could be
// no jump. So what is called within is known by the place in libcudart that it returns to, as soon
// as one call from there was seen within another. Step detection does not hear from then on of what
// others call of that libcudart round our wrapper. A kernel that comes by another function of
// libcudart than before has its inner launch taken for the job's until that is seen within a call:
// a step is found anew then.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/step/stride.hpp"

namespace traceagent::door {

class InnerLaunches {
 public:
  [[gnu::always_inline]] bool has(const void* return_address) const noexcept {
    const std::size_t place = place_of(return_address);
    return places_[place].load(std::memory_order_relaxed) == return_address ||
           places_[place + 1].load(std::memory_order_relaxed) == return_address;
  }
  /// Of a launch that was seen within another one. Takes the loader's lock, once for each place.
  void add(const void* return_address) noexcept;
  /// Some will be seen that has() will not tell. For good.
  void give_up() noexcept;
  /// They are the job's own as far as can be seen. For good. Only while no thread launches.
  void take_for_the_jobs() noexcept;

  bool all_are_told_apart() const noexcept { return all_are_told_apart_.load(); }

  /// Whose launches may pass without leaving their stack address; null: nobody's.
  void let_pass(const step::OpenStride* passing) noexcept;
  /// Whether this is one of them. True counts it.
  [[gnu::always_inline]] bool pass(std::uint64_t kernel) const noexcept {
    return passing_.load(std::memory_order_acquire)->pass_launch_within_stretch(kernel);
  }

 private:
  /// A libcudart launches from some ten places.
  static constexpr std::size_t place_count = 256;

  static std::size_t place_of(const void* return_address) noexcept {
    const auto bits = reinterpret_cast<std::uintptr_t>(return_address);
    return (bits >> 2) % place_count;
  }

  static constexpr step::OpenStride nobodys{};

  std::array<std::atomic<const void*>, place_count + 1> places_{};
  std::atomic<bool> all_are_told_apart_{true};
  /// Never null, so that a launch has one thing less to look at.
  std::atomic<const step::OpenStride*> passing_{&nobodys};
};

[[gnu::visibility("hidden")]] extern constinit InnerLaunches inner_launches;

}  // namespace traceagent::door

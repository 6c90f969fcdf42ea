#include "agent/door/inner_launches.hpp"

#include "agent/door/loaded_objects.hpp"

namespace traceagent::door {

constinit InnerLaunches inner_launches;

// Sequentially consistent, both: whichever of them comes last, nobody's launches pass.
void InnerLaunches::give_up() noexcept {
  all_are_told_apart_.store(false);
  passing_.store(&nobodys);
}

void InnerLaunches::let_pass(const step::OpenStride* passing) noexcept {
  passing_.store(passing != nullptr ? passing : &nobodys);
  if (!all_are_told_apart()) passing_.store(&nobodys);
}

void InnerLaunches::add(const void* return_address) noexcept {
  if (!all_are_told_apart() || has(return_address)) return;
  // Elsewhere lies our own wrapper, from a libcudart that jumps to the driver's function; another
  // tool that stands before us, whose every launch returns to one place; and the job, after it left
  // a runtime call by longjmp.
  if (is_in_a_cudart(return_address)) {
    const std::size_t place = place_of(return_address);
    for (std::size_t i = place; i <= place + 1; ++i) {
      const void* there = nullptr;
      if (places_[i].compare_exchange_strong(there, return_address, std::memory_order_relaxed,
                                             std::memory_order_relaxed) ||
          there == return_address) {
        return;
      }
    }
  }
  give_up();
}

void InnerLaunches::take_for_the_jobs() noexcept {
  // A forked child has its parent's.
  for (std::atomic<const void*>& place : places_) place.store(nullptr, std::memory_order_relaxed);
  give_up();
}

}  // namespace traceagent::door

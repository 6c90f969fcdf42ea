#include "agent/door/call.hpp"
#include "agent/door/inner_launches.hpp"
#include "agent/door/start.hpp"

namespace traceagent::door {

constinit std::atomic<step::Tracker*> tracker{nullptr};
constinit std::atomic<void (*)() noexcept> on_first_device_call{nullptr};
constinit std::atomic<bool> cudart_is_open{true};
constinit std::atomic<bool> driver_is_open{true};

void report_to(step::Tracker* steps) noexcept {
  tracker.store(steps, std::memory_order_release);
  inner_launches.let_pass(steps != nullptr ? &steps->open_stride() : nullptr);
}

void open_cuda_doors(bool cudart, bool driver) noexcept {
  cudart_is_open.store(cudart, std::memory_order_relaxed);
  driver_is_open.store(driver, std::memory_order_relaxed);
  // Through a shut door no launch is seen to be within a call of libcudart's.
  if (!cudart) inner_launches.take_for_the_jobs();
}

}  // namespace traceagent::door

#include "agent/process/memory_budget.hpp"

#include <algorithm>

#include "config/units.hpp"

namespace traceagent::process {
namespace {

constexpr std::uint64_t smallest_ring_bytes = 256 * 1024;
constexpr std::uint64_t smallest_buffers_bytes = 1024 * 1024;
// Step detection alone reserves 12 MB; the writing of a window takes about a third of its records.
constexpr std::uint64_t usual_heap_bytes = 16 * 1024 * 1024;
constexpr std::uint64_t unit_bytes = 64 * 1024;

std::uint64_t whole(std::uint64_t bytes) noexcept { return bytes / unit_bytes * unit_bytes; }

std::uint64_t buffers_of(const config::Options& options) noexcept {
  return options.doors_cupti ? options.device_buffers : 0;
}

}  // namespace

std::string fit_memory(config::Options& options) {
  const std::uint64_t budget = options.budget_memory;
  const std::uint64_t for_heap = std::max(budget / 4, usual_heap_bytes);
  const std::uint64_t ring = options.ring_size, buffers = buffers_of(options);
  if (budget == 0 || (ring <= budget && buffers <= budget && ring + buffers + for_heap <= budget)) {
    return {};
  }
  if (options.doors_cupti) {
    options.device_buffers = std::min(buffers, std::max(whole(budget / 4), smallest_buffers_bytes));
  }
  const std::uint64_t taken = for_heap + buffers_of(options);
  const std::uint64_t left = budget - std::min(budget, taken);
  options.ring_size = std::min(ring, std::max(whole(left), smallest_ring_bytes));
  return "budget.memory: " + config::show_bytes(budget) + ": ring.size is " +
         config::show_bytes(options.ring_size) + " instead of " + config::show_bytes(ring) +
         (options.doors_cupti && options.device_buffers != buffers
              ? ", device.buffers " + config::show_bytes(options.device_buffers) + " instead of " +
                    config::show_bytes(buffers)
              : std::string()) +
         ": raise it for more";
}

std::int64_t heap_limit_bytes(const config::Options& options, std::uint64_t ring_bytes) noexcept {
  if (options.budget_memory == 0) return INT64_MAX;
  const std::uint64_t taken = ring_bytes + buffers_of(options);
  return static_cast<std::int64_t>(std::min<std::uint64_t>(
      options.budget_memory - std::min(options.budget_memory, taken), INT64_MAX));
}

}  // namespace traceagent::process

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

// Leaves the ring what a quarter of the budget for the buffers leaves, and the buffers the rest.
void make_fit(config::Options& options, std::uint64_t room) {
  const std::uint64_t buffers = buffers_of(options);
  const std::uint64_t quarter = whole(options.budget_memory / 4);
  const std::uint64_t least = std::min(buffers, std::max(quarter, smallest_buffers_bytes));
  const std::uint64_t for_ring = whole(room - std::min(room, least));
  options.ring_size = std::min(options.ring_size, std::max(for_ring, smallest_ring_bytes));
  if (!options.doors_cupti) return;
  const std::uint64_t left = whole(room - std::min(room, options.ring_size));
  options.device_buffers = std::min(buffers, std::max(left, least));
}

std::string change_in_words(const char* option, std::uint64_t now, std::uint64_t before) {
  if (now == before) return {};
  return std::string(option) + config::show_bytes(now) + " instead of " +
         config::show_bytes(before);
}

}  // namespace

std::string fit_memory(config::Options& options) {
  const std::uint64_t budget = options.budget_memory;
  const std::uint64_t for_heap = std::max(budget / 4, usual_heap_bytes);
  const std::uint64_t ring = options.ring_size, buffers = buffers_of(options);
  if (budget == 0 || (ring <= budget && buffers <= budget && ring + buffers + for_heap <= budget)) {
    return {};
  }
  make_fit(options, budget - std::min(budget, for_heap));
  const std::string of_ring = change_in_words("ring.size is ", options.ring_size, ring);
  const std::string of_buffers = change_in_words(
      of_ring.empty() ? "device.buffers is " : ", device.buffers ", buffers_of(options), buffers);
  if (of_ring.empty() && of_buffers.empty()) return {};  // the least of both, whatever the budget
  return "budget.memory: " + config::show_bytes(budget) + ": " + of_ring + of_buffers +
         ": raise it for more";
}

std::int64_t heap_limit_bytes(const config::Options& options, std::uint64_t ring_bytes) noexcept {
  if (options.budget_memory == 0) return INT64_MAX;
  const std::uint64_t taken = ring_bytes + buffers_of(options);
  return static_cast<std::int64_t>(std::min<std::uint64_t>(
      options.budget_memory - std::min(options.budget_memory, taken), INT64_MAX));
}

}  // namespace traceagent::process

#include "tests/sim/engine/prepared.hpp"

#include <utility>

namespace simgpu::prepared {
namespace {

// One at a time: whoever adds launches at once.
thread_local std::optional<Launch> waiting;
thread_local char handle;

}  // namespace

const void* add(Work work, std::uint64_t call_number) {
  waiting = Launch{std::move(work), call_number};
  return &handle;
}

std::optional<Launch> take(const void* wanted) {
  if (wanted != &handle) {
    return std::nullopt;
  }
  return std::exchange(waiting, std::nullopt);
}

}  // namespace simgpu::prepared

#pragma once

#include <cstdint>
#include <optional>

#include "tests/sim/engine/work.hpp"

/// How the libraries above hand their launches to the simulated driver: as work that is described
/// already, under a handle that they pass for a kernel's.
namespace simgpu::prepared {

struct Launch {
  Work work;
  std::uint64_t call_number = 0;  // of the call that the work is due to
};

/// A handle, for this thread's next launch. It lives until then.
const void* add(Work work, std::uint64_t call_number);
/// What the handle stands for; nothing for what add() did not give on this thread.
std::optional<Launch> take(const void* handle);

}  // namespace simgpu::prepared

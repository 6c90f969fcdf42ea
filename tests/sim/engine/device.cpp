#include "tests/sim/engine/device.hpp"

namespace simgpu {
namespace {

thread_local int current = 0;

}  // namespace

int current_device() { return current; }

void set_current_device(int device) { current = device; }

}  // namespace simgpu

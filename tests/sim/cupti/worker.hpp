#pragma once

#include <cstdint>

/// CUPTI's own thread: looks from time to time which work is over, hands over full buffers.
namespace simgpu::cupti::worker {

/// From the first enabled kind on.
void start();
void wake();
/// 0: the default.
void set_period(std::uint32_t period_ms);

}  // namespace simgpu::cupti::worker

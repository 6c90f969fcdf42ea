#pragma once

namespace simgpu::cudart {

/// For calls that CUDA calls potentially unsafe: true, and the captures of other threads are ended,
/// where such a capture is under way in global mode and this thread is not relaxed about it.
bool disturbs_capture();

}  // namespace simgpu::cudart

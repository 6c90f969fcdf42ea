#pragma once

namespace simgpu {

/// The launcher's global rank of this process, 0 without a launcher.
int rank_of_process();

}  // namespace simgpu

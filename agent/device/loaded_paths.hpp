#pragma once
// Which NVIDIA libraries the job has loaded, and where CUPTI would lie beside them.

#include <string>
#include <vector>

namespace traceagent::device {

// The true dlsym: ours is interposed, and this folder must not come back through the door.
using LookUp = void* (*)(void* handle, const char* symbol);

std::vector<std::string> loaded_paths();

// The majors of CUDA to try, best first: those of the loaded libcudarts, then the driver's (0:
// unknown), then older ones.
std::vector<int> cuda_majors(const std::vector<std::string>& loaded, int driver_major);

// libcupti's SONAMEs for a major, newest first.
std::vector<std::string> cupti_names(int major);

// Paths and SONAMEs to open, best first: beside the loaded libcudart, in the toolkit's and the
// wheels' places near it, wherever the loader finds it.
std::vector<std::string> cupti_candidates(const std::vector<std::string>& loaded, int driver_major);

}  // namespace traceagent::device

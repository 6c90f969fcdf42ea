#pragma once
// CUPTI, opened at run time: the one the job has loaded, or the one that fits its libcudart.

#include <cstdint>
#include <string>

#include "agent/device/cupti_functions.hpp"
#include "agent/device/loaded_paths.hpp"

namespace traceagent::device {

// CUDA 13.0: it may hang where kernels are switched off and crash in a flush. Repaired in 13.0
// Update 1, which is 130001.
inline constexpr std::uint32_t unsafe_cupti_version = 130000;

struct CuptiLibrary {
  CuptiFunctions functions;
  std::uint32_t version = 0;  // cuptiGetVersion: 18 = CUDA 11.8, 130000 = 13.0
  std::string path;           // empty: none was found
};

// Opened RTLD_LOCAL and never closed. Takes the loader's lock: never from a hook of the job.
CuptiLibrary open_cupti(LookUp look_up, int driver_major);

}  // namespace traceagent::device

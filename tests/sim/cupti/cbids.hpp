#pragma once

#include <cstdint>

#include "tests/sim/engine/activity.hpp"

namespace simgpu::cupti {

/// CUPTI's number of an API function; 0 where the header has none for it. Of the versions of a
/// run-time function, the newest that the library's major has.
std::uint32_t cbid_of(const activity::Api& api);

/// As cuptiGetCallbackName says it ("cudaMalloc_v3020"); nullptr for an unknown number.
const char* callback_name(activity::Domain domain, std::uint32_t cbid);

}  // namespace simgpu::cupti

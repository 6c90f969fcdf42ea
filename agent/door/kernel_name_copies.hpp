#pragma once
// Names of kernels whose owner may let them go: copied, each text once, and never freed.

#include <cstdint>

namespace traceagent::door {

// `hash`: of the text. nullptr: no room, some megabytes are copied already. Any thread.
const char* copy_of_name(const char* name, std::uint64_t hash) noexcept;

}  // namespace traceagent::door

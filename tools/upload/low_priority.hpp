#pragma once

namespace traceagent::tools {

// For this process and what it starts: last in line for CPUs and disks, but never without. What the
// system refuses is left out.
void take_low_priority() noexcept;

}  // namespace traceagent::tools

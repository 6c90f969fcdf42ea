#pragma once

namespace traceagent::tools {

// For this process and what it starts: CPUs when nobody else wants them, disks the same. What the
// system refuses is left out.
void take_low_priority() noexcept;

}  // namespace traceagent::tools

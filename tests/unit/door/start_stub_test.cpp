// agent/process defines the start; here it is only counted.
#include "tests/unit/door/recording.hpp"

namespace traceagent::door {

std::atomic<int> starts{0};
void start_process() noexcept { starts.fetch_add(1); }
void start_in_injection(const char*) noexcept { starts.fetch_add(1); }

}  // namespace traceagent::door

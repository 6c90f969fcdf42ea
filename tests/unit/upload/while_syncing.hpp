#pragma once

#include <functional>

namespace traceagent::tools {

// What others do meanwhile: fsync() does this, and no more, in these tests.
extern std::function<void()> while_syncing;

}  // namespace traceagent::tools

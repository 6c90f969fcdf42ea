#include "agent/door/call.hpp"
#include "agent/door/start.hpp"

namespace traceagent::door {

constinit std::atomic<step::Tracker*> tracker{nullptr};

}  // namespace traceagent::door

#include "agent/door/call.hpp"
#include "agent/door/start.hpp"

namespace traceagent::door {

constinit std::atomic<step::Tracker*> tracker{nullptr};
constinit std::atomic<api::Function> counted_function{api::Function::none};

}  // namespace traceagent::door

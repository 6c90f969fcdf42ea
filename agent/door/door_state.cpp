#include "agent/door/call.hpp"
#include "agent/door/start.hpp"

namespace traceagent::door {

constinit std::atomic<step::Tracker*> tracker{nullptr};
constinit std::atomic<void (*)() noexcept> on_first_device_call{nullptr};
constinit std::atomic<bool> cudart_is_open{true};
constinit std::atomic<bool> driver_is_open{true};

}  // namespace traceagent::door

#include "agent/event/own_heap.hpp"

namespace traceagent::event {

constinit OwnHeap own_heap;
constinit thread_local int heap_bounds = 0;

}  // namespace traceagent::event

#pragma once
// A push and a pop as NVTX's client makes them, through its table of functions: of a tool that does
// nothing (do_nothing/nvtx.cpp).

#include <nvtx3/nvToolsExt.h>

#include <atomic>

extern "C" {
int emptyRangePush(const char*);
int emptyRangePop();
int emptyDomainRangePush(nvtxDomainHandle_t, const nvtxEventAttributes_t*);
int emptyDomainRangePop(nvtxDomainHandle_t);
}

namespace traceagent::bench {

// As the client's: read at each call, and none where no tool is attached.
template <auto function>
inline std::atomic<decltype(function)> entry{function};

template <auto function, class... Arguments>
void call_empty_tool(Arguments... arguments) {
  if (auto* empty = entry<function>.load(std::memory_order_relaxed)) empty(arguments...);
}

}  // namespace traceagent::bench

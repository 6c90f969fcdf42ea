#pragma once
// One event of NCCL's profiler interface, whatever version it came in.

#include <cstdint>
#include <string_view>

#include "agent/api/function.hpp"
#include "agent/door/nccl_plugin_layouts.hpp"
#include "agent/event/plan_record.hpp"

namespace traceagent::door::nccl_plugin {

// Texts are NCCL's own and live as long as the call does.
struct Event {
  std::uint32_t type = 0;
  void** parent = nullptr;  // where the description keeps it
  void** group = nullptr;   // the second parent of versions 5 and 6; null where there is none
  int rank = -1;
  std::uint64_t comm_hash = 0;  // before version 4
  api::Function function = api::Function::none;
  std::uint64_t sequence = event::no_sequence;
  std::uint64_t count = 0;
  std::uint8_t datatype = event::unknown_datatype;
  std::uint8_t channels = 0, warps = 0;
  int peer = -1;  // or root
  std::string_view algorithm, protocol;
  // Proxies, kernel channels and the network.
  int pid = 0;
  std::uint32_t channel = 0;  // or step
  std::uint64_t gpu_ns = 0;
  std::uint64_t bytes = 0;  // or id
  bool is_send = false;
};

// `description` is what NCCL handed to start_event() of a plugin of that version.
Event read_event(int version, void* description) noexcept;

}  // namespace traceagent::door::nccl_plugin

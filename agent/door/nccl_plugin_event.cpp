#include "agent/door/nccl_plugin_event.hpp"

#include <iterator>

namespace traceagent::door::nccl_plugin {
namespace {

using api::Function;

struct FunctionText {
  std::string_view text;
  Function function;
};
// As NCCL says them, in the order of version 1's numbers.
constexpr FunctionText functions[] = {
    {"Broadcast", Function::ncclBroadcast}, {"Reduce", Function::ncclReduce},
    {"AllGather", Function::ncclAllGather}, {"ReduceScatter", Function::ncclReduceScatter},
    {"AllReduce", Function::ncclAllReduce}, {"SendRecv", Function::none},
    {"Send", Function::ncclSend},           {"Recv", Function::ncclRecv},
    {"AlltoAll", Function::ncclAlltoAll},   {"Scatter", Function::ncclScatter},
    {"Gather", Function::ncclGather},
};
// In ncclDataType_t's order.
constexpr std::string_view datatypes[] = {"ncclInt8",     "ncclUint8",      "ncclInt32",
                                          "ncclUint32",   "ncclInt64",      "ncclUint64",
                                          "ncclFloat16",  "ncclFloat32",    "ncclFloat64",
                                          "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
// Version 1's numbers, in the words of the later ones.
constexpr std::string_view algorithms[] = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
constexpr std::string_view protocols[] = {"LL", "LL128", "SIMPLE"};

std::string_view text_of(const char* text) noexcept {
  return text != nullptr ? std::string_view(text) : std::string_view();
}

Function function_of(const char* text) noexcept {
  for (const FunctionText& each : functions) {
    if (each.text == text_of(text)) return each.function;
  }
  return Function::none;
}
Function function_of(std::uint8_t number) noexcept {
  return number < std::size(functions) ? functions[number].function : Function::none;
}

std::uint8_t datatype_of(const char* text) noexcept {
  for (std::uint8_t i = 0; i < std::size(datatypes); ++i) {
    if (datatypes[i] == text_of(text)) return i;
  }
  return event::unknown_datatype;
}
std::uint8_t datatype_of(std::uint8_t number) noexcept { return number; }

// NCCL says "Unknown" where it has no algorithm to speak of.
std::string_view known(const char* text) noexcept {
  return text_of(text) == "Unknown" ? std::string_view() : text_of(text);
}
template <std::size_t size>
std::string_view named(const std::string_view (&names)[size], std::uint8_t number) noexcept {
  return number < size ? names[number] : std::string_view();
}

template <class Collective>
void read_collective(const Collective& from, Event& event) noexcept {
  event.function = function_of(from.function);
  event.sequence = from.sequence;
  event.count = from.count;
  event.datatype = datatype_of(from.datatype);
  event.peer = from.root;
  event.channels = from.channels;
  event.warps = from.warps;
  if constexpr (requires { from.comm_hash; }) event.comm_hash = from.comm_hash;
  if constexpr (requires { from.algorithm[0]; }) {
    event.algorithm = known(from.algorithm);
    event.protocol = known(from.protocol);
  } else {
    event.algorithm = named(algorithms, from.algorithm);
    event.protocol = named(protocols, from.protocol);
  }
}

template <class PointToPoint>
void read_point_to_point(const PointToPoint& from, Event& event) noexcept {
  event.function = function_of(from.function);
  event.count = from.count;
  event.datatype = datatype_of(from.datatype);
  event.peer = from.peer;
  if constexpr (requires { from.comm_hash; }) event.comm_hash = from.comm_hash;
  if constexpr (requires { from.channels; }) event.channels = from.channels;
}

void read_copy_engine(const CopyEngine& from, Event& event) noexcept {
  event.function = function_of(from.function);
  event.sequence = from.sequence;
  event.count = from.count;
  event.datatype = datatype_of(from.datatype);
  event.peer = from.root;
  event.algorithm = "COPY_ENGINE";
  event.protocol = known(from.synchronisation);
}

void read_collective(int version, void* details, Event& event) noexcept {
  if (version == 1) return read_collective(*static_cast<const Collective1*>(details), event);
  if (version == 2) return read_collective(*static_cast<const Collective2*>(details), event);
  if (version == 3) return read_collective(*static_cast<const Collective3*>(details), event);
  read_collective(*static_cast<const Collective4*>(details), event);
  if (version >= 5) event.group = &static_cast<Collective4*>(details)->group;
}

void read_point_to_point(int version, void* details, Event& event) noexcept {
  if (version == 1) {
    return read_point_to_point(*static_cast<const PointToPoint1*>(details), event);
  }
  if (version <= 3) {
    return read_point_to_point(*static_cast<const PointToPoint2*>(details), event);
  }
  read_point_to_point(*static_cast<const PointToPoint4*>(details), event);
  if (version >= 5) event.group = &static_cast<PointToPoint4*>(details)->group;
}

void read_proxy(const ProxyOperation& from, Event& event) noexcept {
  event.pid = from.pid;
  event.channel = from.channel;
  event.peer = from.peer;
  event.bytes = static_cast<std::uint32_t>(from.chunk_bytes);
  event.is_send = from.is_send != 0;
}

}  // namespace

Event read_event(int version, void* description) noexcept {
  auto& head = *static_cast<Head*>(description);
  Event event;
  event.type = static_cast<std::uint32_t>(version >= 5 ? head.type : head.type & 0xff);
  event.parent = &head.parent;
  event.rank = head.rank;
  void* details = static_cast<std::byte*>(description) + details_offset;
  switch (event.type) {
    case collective_event:
      read_collective(version, details, event);
      break;
    case point_to_point_event:
      read_point_to_point(version, details, event);
      break;
    case copy_engine_event:
      if (version >= 6) read_copy_engine(*static_cast<const CopyEngine*>(details), event);
      break;
    case proxy_operation_event:
      read_proxy(*static_cast<const ProxyOperation*>(details), event);
      break;
    case proxy_step_event:
      event.channel = static_cast<std::uint32_t>(static_cast<const ProxyStep*>(details)->step);
      break;
    case kernel_channel_event:
      event.channel = static_cast<const KernelChannel*>(details)->channel;
      if (version >= 4) event.gpu_ns = static_cast<const KernelChannel*>(details)->gpu_ns;
      break;
    case network_event:
      event.bytes = static_cast<std::uint64_t>(static_cast<const Network*>(details)->id);
      break;
    default:
      break;
  }
  return event;
}

}  // namespace traceagent::door::nccl_plugin

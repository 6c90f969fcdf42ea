#pragma once
// The binary interface between NCCL and a profiler plugin, versions 1 to 6, as far as we read it.
// NCCL of 2.23 speaks version 1; 2.24, 2.25: 2; 2.26: 3; 2.27: 4; 2.28: 5; 2.29 on: 6. Each asks a
// plugin for its newest version first. The offsets are facts of the interface; nothing of NVIDIA's
// headers is needed to build.

#include <nccl.h>

#include <cstddef>
#include <cstdint>

namespace traceagent::door::nccl_plugin {

inline constexpr int first_version = 1, last_version = 6;

// Kinds of events: bits of the activation mask and Head::type.
enum EventType : std::uint32_t {
  group_event = 1 << 0,
  collective_event = 1 << 1,
  point_to_point_event = 1 << 2,
  proxy_operation_event = 1 << 3,
  proxy_step_event = 1 << 4,
  proxy_control_event = 1 << 5,
  kernel_channel_event = 1 << 6,  // from version 3 on
  network_event = 1 << 7,         // from version 3 on
  group_call_event = 1 << 8,      // this one and those below from version 5 on
  collective_call_event = 1 << 9,
  point_to_point_call_event = 1 << 10,
  kernel_launch_event = 1 << 11,
  copy_engine_event = 1 << 12,  // from version 6 on
};

// Of the states that a plugin is told, the one that carries what we want.
inline constexpr int kernel_channel_ended = 22;

// What every event starts with; `type` is eight bits before version 5.
struct Head {
  std::uint64_t type;
  void* parent;
  int rank;
};
static_assert(offsetof(Head, parent) == 8 && offsetof(Head, rank) == 16);

// What follows at this offset depends on the type.
inline constexpr std::size_t details_offset = 24;

struct Collective1 {
  const char* comm_name;
  std::uint64_t comm_hash, sequence;
  std::uint8_t function;
  const void *from, *to;
  std::size_t count;
  int root;
  std::uint8_t datatype;
  std::uint32_t reduction;
  std::size_t traffic_bytes;
  std::uint8_t channels, warps, algorithm, protocol;
};
static_assert(offsetof(Collective1, function) == 24 && offsetof(Collective1, count) == 48 &&
              offsetof(Collective1, root) == 56 && offsetof(Collective1, datatype) == 60 &&
              offsetof(Collective1, channels) == 80 && offsetof(Collective1, protocol) == 83);

struct Collective2 {
  const char* comm_name;
  std::uint64_t comm_hash, sequence;
  const char* function;
  const void *from, *to;
  std::size_t count;
  int root;
  const char* datatype;
  std::size_t traffic_bytes;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
};
static_assert(offsetof(Collective2, datatype) == 64 && offsetof(Collective2, channels) == 80 &&
              offsetof(Collective2, protocol) == 96);

struct Collective3 {
  const char* comm_name;
  std::uint64_t comm_hash, sequence;
  const char* function;
  const void *from, *to;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
};
static_assert(offsetof(Collective3, channels) == 72 && offsetof(Collective3, protocol) == 88);

// Versions 4 to 6: the communicator was named at its start.
struct Collective4 {
  std::uint64_t sequence;
  const char* function;
  const void *from, *to;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
  void* group;  // from version 5 on, where the parent is the call
};
static_assert(offsetof(Collective4, count) == 32 && offsetof(Collective4, datatype) == 48 &&
              offsetof(Collective4, algorithm) == 64 && offsetof(Collective4, group) == 80);

struct PointToPoint1 {
  const char* comm_name;
  std::uint64_t comm_hash;
  std::uint8_t function;
  const void* buffer;
  std::uint8_t datatype;
  std::size_t count;
  int peer;
};
struct PointToPoint2 {
  const char* comm_name;
  std::uint64_t comm_hash;
  const char* function;
  const void* buffer;
  const char* datatype;
  std::size_t count;
  int peer;
};
static_assert(offsetof(PointToPoint1, datatype) == 32 && offsetof(PointToPoint1, peer) == 48);
static_assert(offsetof(PointToPoint2, datatype) == 32 && offsetof(PointToPoint2, peer) == 48);

struct PointToPoint4 {
  const char* function;
  const void* buffer;
  const char* datatype;
  std::size_t count;
  int peer;
  std::uint8_t channels;
  void* group;  // from version 5 on
};
static_assert(offsetof(PointToPoint4, count) == 24 && offsetof(PointToPoint4, channels) == 36 &&
              offsetof(PointToPoint4, group) == 40);

struct ProxyOperation {
  int pid;
  std::uint8_t channel;
  int peer, steps, chunk_bytes, is_send;
};
static_assert(offsetof(ProxyOperation, peer) == 8 && offsetof(ProxyOperation, is_send) == 20);

struct ProxyStep {
  int step;
};

struct KernelChannel {
  std::uint8_t channel;
  std::uint64_t gpu_ns;  // from version 4 on
};
static_assert(offsetof(KernelChannel, gpu_ns) == 8);

struct Network {
  std::int64_t id;
};

struct CopyEngine {
  std::uint64_t sequence;
  const char* function;
  const void *from, *to;
  std::size_t count;
  int root;
  const char *datatype, *synchronisation;
};
static_assert(offsetof(CopyEngine, synchronisation) == 56);

// What NCCL calls. The logger that comes last is not ours to use.
using Init1 = ncclResult_t (*)(void** context, int* mask);
using Init4 = ncclResult_t (*)(void** context, int* mask, const char* name, std::uint64_t id,
                               int nodes, int ranks, int rank, void* logger);
using Init5 = ncclResult_t (*)(void** context, std::uint64_t id, int* mask, const char* name,
                               int nodes, int ranks, int rank, void* logger);

template <class Init>
struct Plugin {
  const char* name;
  Init init;
  ncclResult_t (*start_event)(void* context, void** handle, void* description);
  ncclResult_t (*stop_event)(void* handle);
  ncclResult_t (*record_state)(void* handle, int state, void* arguments);
  ncclResult_t (*finalize)(void* context);
};
static_assert(sizeof(Plugin<Init5>) == 48);

}  // namespace traceagent::door::nccl_plugin

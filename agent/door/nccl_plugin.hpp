#pragma once
// The NCCL plugin door: NCCL's profiler interface tells how it carries out each collective
// (sequence number, algorithm, protocol, channels), also where NCCL is linked into the program and
// no wrapper of ours is called.
//
// NCCL takes one plugin. Where the user named none, the constructor names us (offer_nccl_plugin());
// where they did, NCCL loads theirs, and the dlsym door hands it ours of the same version in the
// place of theirs (nccl_profiler_for()), which passes everything on to theirs.

#include <cstdint>

#include "agent/event/record.hpp"

namespace traceagent::door {

// Called by the library's constructor unless the user shut the door. Sets NCCL_PROFILER_PLUGIN
// where the user has no plugin of their own: not in the environment, nor in NCCL's file of
// settings, nor as a libnccl-profiler.so that NCCL would find by itself.
void offer_nccl_plugin() noexcept;
// False where NCCL has no way to us: told to have no plugin, or the user has one of their own and
// the dlsym door is shut.
bool nccl_plugin_can_be_found() noexcept;

// For the dlsym door: what to answer for a symbol whose true answer is `real`; nullptr: that. Where
// the door is shut (`chain` false), the user's plugin alone: a table that it filled by name would
// otherwise be empty.
bool is_nccl_profiler_name(const char* symbol) noexcept;
void* nccl_profiler_for(const char* symbol, void* real, bool chain) noexcept;

// What NCCL is asked for while the schedule records; before that nothing. Called at the agent's
// start, before the modes are set.
struct NcclEvents {
  bool plans = false;            // collectives and point-to-point
  bool kernel_channels = false;  // when each channel of a kernel ran: costs NCCL extra work
  bool network = false;          // proxies' operations and steps
};
void ask_nccl_for(const NcclEvents& events) noexcept;

// What the process has seen of NCCL's profiler interface.
struct NcclPluginState {
  int version = 0;       // of the interface, 0: no NCCL has started us
  bool chained = false;  // to the user's own plugin
  std::uint64_t communicators = 0;
};
NcclPluginState nccl_plugin_state() noexcept;

// This thread's record of the outermost NCCL call that it is in; null: none, or not recorded.
extern constinit thread_local const event::Record* open_nccl_call
    __attribute__((tls_model("initial-exec")));

}  // namespace traceagent::door

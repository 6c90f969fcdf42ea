#include "tests/sim/nccl/plugin_parts.hpp"

#include <unistd.h>

#include <thread>

#include "tests/sim/engine/clock.hpp"

namespace simgpu::nccl::plugin {
namespace {

constexpr int channel_ended = 22, sending = 9;
constexpr int chunk_bytes = 131072;
constexpr std::uint64_t sent_bytes = 65536;

void tell_channels(Client& client, const Comm& comm, const Plan& plan, void* parent) {
  for (int channel = 0; channel < plan.channels && channel < 3; ++channel) {
    Description description = describe(client.version(), kernel_channel, parent, comm.rank);
    description.put(24, static_cast<std::uint8_t>(channel));
    const std::int64_t now = now_ns();
    if (client.version() >= 4) {
      description.put(32, static_cast<std::uint64_t>(now - 5000));
    }
    void* handle = client.start(comm, description);
    client.record(handle, channel_ended, static_cast<std::uint64_t>(now - 1000 - channel));
    client.stop(handle);
  }
}

Description proxy(Client& client, const Comm& comm, const Plan& plan, const void* parent, int pid) {
  Description description = describe(client.version(), proxy_op, parent, comm.rank);
  description.put(24, pid);
  description.put(28, std::uint8_t{1});
  description.put(32, (comm.rank + 1) % comm.size);
  description.put(36, 2);
  description.put(40, chunk_bytes);
  description.put(44, plan.name[0] == 'R' ? 0 : 1);
  return description;
}

void tell_network(Client& client, const Comm& comm, const Plan& plan, void* parent) {
  // PXN: the parent is a number in another process's memory.
  const auto* elsewhere = reinterpret_cast<const void*>(0x10);
  client.stop(client.start(comm, proxy(client, comm, plan, elsewhere, 1)));
  void* operation = client.start(comm, proxy(client, comm, plan, parent, getpid()));
  for (int step = 0; step < 2; ++step) {
    Description description = describe(client.version(), proxy_step, operation, comm.rank);
    description.put(24, step);
    void* handle = client.start(comm, description);
    client.record(handle, sending, sent_bytes);
    client.stop(handle);
  }
  client.stop(operation);
}

}  // namespace

void tell_parts(Client& client, const Comm& comm, const Plan& plan, unsigned mask, void* handle) {
  if ((mask & (proxy_op | proxy_step | kernel_channel | network)) == 0) {
    return;
  }
  std::thread([&] {
    if ((mask & kernel_channel) != 0 && client.version() >= 3) {
      tell_channels(client, comm, plan, handle);
    }
    if ((mask & (proxy_op | proxy_step | network)) != 0) {
      tell_network(client, comm, plan, handle);
    }
  }).join();
}

}  // namespace simgpu::nccl::plugin

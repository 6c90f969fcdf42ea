#include "tests/sim/nccl/plugin.hpp"

#include <algorithm>
#include <iterator>

#include "tests/sim/nccl/plugin_client.hpp"
#include "tests/sim/nccl/plugin_description.hpp"
#include "tests/sim/nccl/plugin_parts.hpp"

namespace simgpu::nccl::plugin {
namespace {

constexpr unsigned parts = proxy_op | proxy_step | kernel_channel | network;

/// What NCCL keeps of the group that a thread is in, for versions 5 and 6.
struct Calls {
  bool open = false;
  int mask = 0;
  void* group = nullptr;
};
thread_local Calls calls;

// Sends and receives, and what consists of them.
bool is_pair(const Task& task) {
  return task.kind != Task::Kind::collective || task.label.function == Number::ncclAlltoAll ||
         task.label.function == Number::ncclGather || task.label.function == Number::ncclScatter;
}

unsigned shown_for(const Task& task) { return (is_pair(task) ? pair : collective) | parts; }

}  // namespace

void begin(Comm& comm) {
  if (Client* client = Client::open(comm)) {
    comm.plugin_context = client->init(comm);
    comm.has_plugin = true;
  }
}

void end(Comm& comm) {
  if (comm.has_plugin) {
    Client::get()->finalize(comm.plugin_context);
    Client::close();
  }
}

void call_begins(Task& task) {
  Client* client = Client::get();
  if (client == nullptr) {
    return;
  }
  const int now = client->mask();
  task.mask = client->version() >= 5 && calls.open ? calls.mask : now;
  if (client->version() < 5) {
    return;
  }
  if (!calls.open) {
    calls = {true, now, nullptr};
    if ((now & 0xfff & ~32) != 0) {
      calls.group = client->start(*task.comm, describe(client->version(), group_call, nullptr, 0));
    }
  }
  const unsigned own = is_pair(task) ? pair_call : collective_call;
  if ((static_cast<unsigned>(task.mask) & (own | shown_for(task))) != 0) {
    task.call_handle = client->start(*task.comm, describe(client->version(), own, calls.group, 0));
    client->stop(task.call_handle);
  }
}

void group_ends() {
  Client* client = Client::get();
  if (client != nullptr && calls.open) {
    client->stop(calls.group);
  }
  calls = {};
}

Launch::Launch(const std::vector<Task>& tasks) {
  // NCCL takes the large ones first.
  std::vector<Task> sorted = tasks;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Task& a, const Task& b) { return a.label.bytes > b.label.bytes; });
  for (const Task& task : sorted) {
    const std::vector<Plan> plans = plans_of(task);
    note_plans(task, plans);
    for (const Plan& plan : plans) {
      told_.push_back({task, plan, nullptr});
    }
  }
}

std::vector<Plan> Launch::plans() const {
  std::vector<Plan> plans;
  std::transform(told_.begin(), told_.end(), std::back_inserter(plans),
                 [](const Told& told) { return told.plan; });
  return plans;
}

void Launch::tell() {
  if (Client::get() != nullptr && !told_.empty()) {
    start();
    stop();
  }
}

void Launch::start() {
  Client& client = *Client::get();
  const Comm& comm = *told_.front().task.comm;
  const bool any = std::any_of(told_.begin(), told_.end(), [](const Told& told) {
    return (static_cast<unsigned>(told.task.mask) & (group | collective | pair | parts)) != 0;
  });
  if (any) {
    group_ = client.start(comm, describe(client.version(), group, nullptr, 0));
  }
  for (Told& told : told_) {
    const bool needs_group = client.version() <= 4;
    if ((static_cast<unsigned>(told.task.mask) & shown_for(told.task)) != 0 &&
        (group_ != nullptr || !needs_group)) {
      told.handle = client.start(
          comm, describe(client.version(), told.plan, comm, told.task.call_handle, group_));
    }
  }
}

void Launch::stop() {
  Client& client = *Client::get();
  for (const Told& told : told_) {
    // NCCL 2.23 ends also what its plugin did not want.
    if (told.handle != nullptr || client.version() == 1) {
      client.stop_even_null(told.handle);
    }
  }
  client.stop(group_);
  for (const Told& told : told_) {
    tell_parts(client, *told.task.comm, told.plan, static_cast<unsigned>(told.task.mask),
               told.handle);
  }
}

}  // namespace simgpu::nccl::plugin

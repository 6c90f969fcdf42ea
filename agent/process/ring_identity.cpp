#include "agent/process/ring_identity.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "agent/door/nccl_plugin.hpp"
#include "agent/event/high_descriptor.hpp"
#include "agent/event/ticks.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/version.hpp"
#include "agent/ring/owner.hpp"
#include "agent/trace/job_ranks.hpp"

namespace traceagent::process {
namespace {

std::string read_file(const char* path) {
  std::string text;
  const int fd = event::open_high(path, O_RDONLY);
  if (fd < 0) return text;
  char buffer[4096];
  const ssize_t got = read(fd, buffer, sizeof buffer);
  close(fd);
  if (got > 0) text.assign(buffer, static_cast<std::size_t>(got));
  return text;
}

std::string command_line() {
  std::string text = read_file("/proc/self/cmdline");
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& c : text) {
    if (c == '\0') c = ' ';
  }
  return text;
}

}  // namespace

config::NameVariables name_variables(const Identity& identity) {
  config::NameVariables variables;
  variables.run_name = identity.run_name;
  variables.rank = identity.rank;
  variables.local_rank = identity.local_rank;
  variables.world_size = identity.world_size;
  variables.local_world_size = identity.local_world_size;
  variables.node_rank = identity.node_rank;
  return variables;
}

// With what nobody said: it is in the files, for who counts a node's ranks.
std::string source_in_words(const Identity& identity) {
  return identity.source + (identity.is_node_rank_guess ? trace::node_rank_is_guess : "") +
         (identity.is_local_world_size_guess ? trace::local_world_size_is_guess : "");
}

void write_identity(Agent& agent) {
  const ring::Ring& ring = agent.ring.ring;
  ring::Header& header = ring.header();
  header.agent_version = agent_version_number;
  header.owner_pid = static_cast<std::uint32_t>(agent.pid);
  header.owner_start_time = ring::start_time_of(header.owner_pid);
  header.ticks_from_tsc = event::ticks_from_tsc ? 1 : 0;

  ring::IdentityBlock& block = header.identity;
  block.rank = agent.identity.rank;
  block.local_rank = agent.identity.local_rank;
  block.world_size = agent.identity.world_size;
  block.local_world_size = agent.identity.local_world_size;
  block.node_rank = agent.identity.node_rank;
  block.trace_pid = agent.trace_pid;
  block.run_name = ring.add_name(agent.identity.run_name);
  block.run_key = ring.add_name(agent.identity.run_key);
  block.host = ring.add_name(agent.identity.host);
  block.identity_source = ring.add_name(source_in_words(agent.identity));
  block.command_line = ring.add_name(command_line());
  block.output_folder = ring.add_name(agent.options.output_folder);
  block.file_template = ring.add_name(agent.options.output_filename);
  block.merged_name = agent.options.output_merged ? ring.add_name(*agent.options.output_merged) : 0;
  block.options_json = ring.add_name(config::describe(agent.options));
  block.gzip = agent.options.output_gzip ? 1 : 0;
  block.overwrite_files = agent.options.output_overwrite ? 1 : 0;
  block.steps_per_epoch = agent.options.step_per_epoch;
  block.samples_per_step = agent.options.step_samples;
  block.tokens_per_step = agent.options.step_tokens;
  block.checksum = ring::identity_checksum(ring);
  header.door_open[static_cast<std::size_t>(ring::DoorId::cudart)] = agent.options.doors_cudart;
  header.door_open[static_cast<std::size_t>(ring::DoorId::nccl)] = agent.options.doors_nccl;
  header.door_open[static_cast<std::size_t>(ring::DoorId::dlsym)] = agent.options.doors_dlsym;
  header.door_open[static_cast<std::size_t>(ring::DoorId::driver)] = agent.options.doors_driver;
  header.door_open[static_cast<std::size_t>(ring::DoorId::nccl_plugin)] =
      agent.options.doors_nccl_plugin && door::nccl_plugin_can_be_found();
  header.door_open[static_cast<std::size_t>(ring::DoorId::nvtx)] = agent.options.doors_nvtx;
}

}  // namespace traceagent::process

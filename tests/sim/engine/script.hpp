#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What the simulated GPU does and what goes wrong, read from the YAML file $SIMGPU_SCRIPT.
/// README.md in the folder above lists the keys. Times are nanoseconds, bandwidths bytes/s.
namespace simgpu {

struct CallError {
  std::string function;
  std::uint64_t call = 1;  // the n-th call from 1, and only that one
  int code = 999;
};

struct SlowLink {
  int first = 0;  // global ranks
  int second = 0;
  double factor = 1;
};

/// When another profiler has CUPTI.
struct Taken {
  std::int64_t from_ns = 0;    // after the script was read, which the first call does
  std::int64_t until_ns = -1;  // -1: for ever
  std::uint64_t attempts = 0;  // to subscribe, that find it taken; 0: all
};

struct CuptiFaults {
  std::vector<Taken> taken;
  bool refused = false;                // no privileges
  bool is_of_13_0 = false;             // and not of its Update 1
  double dropped_share = 0;            // of the buffers
  double untimed_share = 0;            // of the records of device work
  bool context_ends_at_exit = false;   // without a callback, before the libraries' destructors
  bool requests_in_launches = false;   // buffers are asked for in the job's calls alone
  std::size_t buffers_at_once = 1;     // are asked for, as by so many threads
  std::int64_t callbacks_take_ns = 0;  // switching one on: by then the kinds of records are
};

struct Script {
  int devices = 8;
  std::uint64_t device_memory_bytes = std::uint64_t{80} << 30;
  std::int64_t kernel_ns = 10'000;
  std::vector<std::pair<std::string, std::int64_t>> kernels;  // glob on the name, first hit wins
  std::int64_t copy_latency_ns = 5'000;
  double host_to_device = 25e9;
  double device_to_host = 25e9;
  double device_to_device = 1500e9;
  std::int64_t nccl_latency_ns = 20'000;
  double nccl_bandwidth = 100e9;
  std::int64_t nccl_launch_delay_ns = 0;  // by NCCL's own threads
  int nccl_plugin_version = 5;            // the newest profiler interface that it speaks

  bool concurrent_graphs = false;  // neighbouring kernels of a graph run at once
  double concurrent_kernels = 0;   // the share of a kernel that the next on its stream overlaps

  // Faults, already narrowed down to this process's rank.
  double slow_factor = 1;
  std::vector<SlowLink> slow_links;      // all of them: every member must agree
  std::int64_t never_arrives_from = -1;  // sequence number of a collective
  std::int64_t differs_at = -1;
  std::int64_t clock_offset_ns = 0;
  std::vector<CallError> errors;
  CuptiFaults cupti;
  std::int64_t read_ns = 0;  // when

  /// How long a kernel of this name lasts on this rank.
  std::int64_t kernel_duration_ns(std::string_view name) const;
  /// How much longer than told a transfer between two global ranks takes.
  double link_factor(int from, int to) const;
};

/// Read once; a broken script ends the process with one line: a test must not run on guesses.
const Script& script();

/// Reads a script for one rank; throws std::runtime_error with the file and what is wrong.
Script read_script(const std::string& path, int rank);

}  // namespace simgpu

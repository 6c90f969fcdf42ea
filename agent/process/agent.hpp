#pragma once
// The agent of this process, once the first hooked call has started it. Made once and never freed:
// a thread of the job may be inside a wrapper until the very end.

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/drain/end_of_run.hpp"
#include "agent/drain/index_queue.hpp"
#include "agent/process/counter_sampling.hpp"
#include "agent/process/device_recording.hpp"
#include "agent/process/drain_thread.hpp"
#include "agent/process/event_times.hpp"
#include "agent/process/file_list.hpp"
#include "agent/process/full_queue.hpp"
#include "agent/process/identity.hpp"
#include "agent/process/run_folder.hpp"
#include "agent/process/said_topics.hpp"
#include "agent/process/unqueued_files.hpp"
#include "agent/process/written_totals.hpp"
#include "agent/ring/private_workers.hpp"
#include "agent/ring/ring_file.hpp"
#include "agent/step/tracker.hpp"
#include "agent/step/window_keeper.hpp"
#include "config/options.hpp"

namespace traceagent::process {

// A rank file of this process that is on the disk.
struct KeptFile {
  std::string path;
  std::uint64_t bytes = 0;
};

struct Agent {
  config::Options options;
  Identity identity;
  RunFolder run_folder;
  ring::CreatedRing ring;
  std::unique_ptr<step::WindowKeeper> windows;
  std::unique_ptr<step::Tracker> tracker;
  DrainThread drain;
  DeviceRecording device;
  CounterSampling counters;
  EventTimes event_times;
  drain::IndexQueue index_queue;
  FileList written_files;  // by the drain thread
  WrittenTotals written;
  UnqueuedFiles unqueued_files;
  FullQueue full_queue;
  // See queue_end_of_run(): the queue could not be told so far.
  std::optional<drain::MergedFiles> untold_end;
  std::deque<KeptFile> kept_files;      // where output.keep is set: oldest first
  std::uint64_t files_removed = 0;      // by output.keep and upload.queue
  FileList workers_files;               // of those whose rings are gone: dead_workers.hpp
  std::vector<std::string> kept_rings;  // of dead peers, and this one's: what is not written
  mutable SaidTopics said;              // where there is no run folder
  double cpu_quota = 0;                 // usable_cpus.hpp
  std::int64_t trace_pid = 0;  // shown as pid in the trace: the rank, but for a second claimant
  int pid = 0;
  bool is_private_worker = false;    // private_workers.hpp
  ring::PrivatePlace private_place;  // of such

  // One process says what concerns all; a child that inherited the rank does not say it again.
  bool speaks_for_node() const noexcept {
    return identity.local_rank == 0 && trace_pid == identity.rank;
  }
};

// nullptr until the agent runs, and in a process where it has switched itself off.
extern constinit std::atomic<Agent*> agent;

// True for one process of the node for each topic: what many ranks could say, one of them says.
bool is_spokesman(const Agent& agent, const char* topic);

// The ring's file and what lies beside it, where nobody will need them any more.
void remove_ring(const Agent& agent);

}  // namespace traceagent::process

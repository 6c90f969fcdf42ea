#include "agent/counters/proc_source.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "agent/counters/device_class.hpp"
#include "agent/counters/proc_text.hpp"
#include "agent/event/error_text.hpp"
#include "agent/event/ticks.hpp"

namespace traceagent::counters {
namespace {

constexpr std::uint64_t bytes_per_kilobyte = 1024;  // as /proc/meminfo means it
constexpr const char* group_name = "control group memory";

std::uint64_t nanoseconds(const timeval& time) noexcept {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_usec) * 1000u;
}

// A sample whose moment is that of its making: before the values are read.
struct Timed {
  explicit Timed(Counter counter) noexcept : sample{counter, 0, 0, {}} {}
  const std::uint64_t ticks = event::read_ticks();
  Sample sample;
};

void put(Recorder& recorder, const Timed& timed) noexcept {
  recorder.put(timed.sample, timed.ticks);
}

void say_not_covered(Recorder& recorder, const std::string& what, int error) {
  recorder.not_covered(what + ": " + event::error_text(error));
}

void say_gaps(Recorder& recorder, const char* counter, int error) {
  recorder.not_covered(std::string(counter) + ": " + event::error_text(error) + " in some samples");
}

}  // namespace

void ProcSource::prepare(Recorder& recorder) noexcept try {
  if (!leave_descriptors_of_process()) {
    recorder.not_covered(
        "process and node counters of /proc: close_range is refused: Linux 5.9 or newer, and a "
        "seccomp filter that allows it");
    return;
  }
  open_files(recorder);
} catch (...) {
  // No memory: what is not open is not sampled.
}

void ProcSource::open(ProcFile& file, const char* path, const char* counter, Recorder& recorder) {
  if (file.open(root_ + path)) return;
  say_not_covered(recorder, std::string(counter) + ": " + path, errno);
}

std::string_view ProcSource::read(const ProcFile& file, const char* counter, Recorder& recorder) {
  if (!file.is_open()) return {};
  const auto text = file.read(buffer_);
  if (!text) say_gaps(recorder, counter, errno);
  return text.value_or(std::string_view());
}

void ProcSource::open_files(Recorder& recorder) {
  if (wanted_.process) {
    // Not the first thread's, which may have ended: it has no memory then.
    open(statm_, "/proc/thread-self/statm", "process memory", recorder);
    open(stat_, "/proc/self/stat", "process threads", recorder);
    open(io_, "/proc/self/io", "process storage", recorder);
  }
  if (!wanted_.node) return;
  open(cpus_, "/proc/stat", "node CPU", recorder);
  open(memory_, "/proc/meminfo", "node memory", recorder);
  open(disks_, "/proc/diskstats", "node disks", recorder);
  open(network_, "/proc/net/dev", "node network", recorder);
  open_group(recorder);
}

int ProcSource::open_group_in(const std::string& folder, bool is_v2, Recorder& recorder) {
  if (!group_used_.open(folder + (is_v2 ? "/memory.current" : "/memory.usage_in_bytes"))) {
    return errno;
  }
  if (!group_limit_.open(folder + (is_v2 ? "/memory.max" : "/memory.limit_in_bytes"))) {
    say_not_covered(recorder, std::string(group_name) + "'s limit", errno);
  }
  return 0;
}

// The nearest that has a limit: of what shares it the memory counts. Empty: none has.
std::string ProcSource::limited_group(const std::string& base, std::string_view path, bool is_v2) {
  // "max", or in version 1 as many whole pages as there can be.
  constexpr unsigned long long none = 1ULL << 62;
  for (const std::string& each : group_and_above(path)) {
    ProcFile limit;
    if (!limit.open(base + each + (is_v2 ? "/memory.max" : "/memory.limit_in_bytes"))) continue;
    const std::string text(limit.read(buffer_).value_or(std::string_view()));
    const unsigned long long bytes = std::strtoull(text.c_str(), nullptr, 10);
    if (bytes != 0 && bytes < none) return base + each;
  }
  return {};
}

void ProcSource::open_group(Recorder& recorder) {
  ProcFile cgroup;
  if (!cgroup.open(root_ + "/proc/self/cgroup")) {
    if (errno != ENOENT) say_not_covered(recorder, group_name, errno);
    return;
  }
  const auto group = memory_group(read(cgroup, group_name, recorder));
  if (!group) return;
  const std::string base = root_ + "/sys/fs/cgroup" + (group->is_v2 ? "" : "/memory");
  const std::string path(group->path);  // it lies in the buffer, which is read into again
  const std::string limited = limited_group(base, path, group->is_v2);
  if (!limited.empty() && open_group_in(limited, group->is_v2, recorder) == 0) return;
  // In a container the path may be the host's, of which only the last folder is seen, as the first.
  // The root group of a machine has no such file: nothing is missing then.
  const int error = open_group_in(base + path, group->is_v2, recorder);
  if (error == 0) return;
  const int error_of_root = open_group_in(base, group->is_v2, recorder);
  if (error_of_root == 0) return;
  const int told = error == ENOENT ? error_of_root : error;
  if (told != ENOENT) say_not_covered(recorder, group_name, told);
}

void ProcSource::sample(Recorder& recorder) noexcept try {
  if (wanted_.process) sample_process(recorder);
  if (wanted_.node) sample_node(recorder);
} catch (...) {
  // No memory: a gap.
}

void ProcSource::sample_usage(Recorder& recorder) {
  Timed cpu(Counter::process_cpu), faults(Counter::process_faults),
      switches(Counter::process_switches);
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return say_gaps(recorder, "process CPU", errno);
  cpu.sample.set(0, nanoseconds(usage.ru_utime));
  cpu.sample.set(1, nanoseconds(usage.ru_stime));
  faults.sample.set(0, static_cast<std::uint64_t>(usage.ru_majflt));
  switches.sample.set(0, static_cast<std::uint64_t>(usage.ru_nvcsw));
  switches.sample.set(1, static_cast<std::uint64_t>(usage.ru_nivcsw));
  for (const Timed* each : {&cpu, &faults, &switches}) put(recorder, *each);
}

void ProcSource::sample_process(Recorder& recorder) {
  sample_usage(recorder);
  Timed memory(Counter::process_memory);
  const auto pages = resident_pages(read(statm_, "process memory", recorder));
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (page_bytes <= 0) say_gaps(recorder, "process memory", errno);
  if (pages && page_bytes > 0) {
    memory.sample.set(0, *pages * static_cast<std::uint64_t>(page_bytes));
  }
  put(recorder, memory);
  Timed threads(Counter::process_threads);
  const std::string_view stat = read(stat_, "process threads", recorder);
  if (const auto count = thread_count(stat)) threads.sample.set(0, *count);
  put(recorder, threads);
  if (io_.is_open()) sample_storage(recorder);
}

// The kernel adds to the process what its children have read and written when it waits for them: a
// data loader's gigabytes in one interval. They are told apart by what it counts of such children.
// Not getrusage() of the process alone: what gVisor tells there is 0.
void ProcSource::sample_storage(Recorder& recorder) {
  constexpr std::uint64_t block_bytes = 512;  // what ru_inblock counts in, whatever the file system
  Timed storage(Counter::process_storage);
  rusage before{};
  rusage after{};
  std::string_view io;
  const auto is_steady = [&] {
    return before.ru_inblock == after.ru_inblock && before.ru_oublock == after.ru_oublock;
  };
  int tries = 3;
  do {  // again where a child was waited for meanwhile
    if (getrusage(RUSAGE_CHILDREN, &before) != 0) {
      return say_gaps(recorder, "process storage", errno);
    }
    io = read(io_, "process storage", recorder);
    getrusage(RUSAGE_CHILDREN, &after);
  } while (!is_steady() && --tries > 0);
  if (!is_steady()) return put(recorder, storage);
  const auto set = [&](std::size_t series, const char* name, long blocks_of_children) {
    const auto bytes = value_of(io, name);
    const std::uint64_t of_children = static_cast<std::uint64_t>(blocks_of_children) * block_bytes;
    if (bytes) storage.sample.set(series, *bytes - std::min(of_children, *bytes));
  };
  set(0, "read_bytes", after.ru_inblock);
  set(1, "write_bytes", after.ru_oublock);
  put(recorder, storage);
}

void ProcSource::sample_node(Recorder& recorder) {
  sample_cpu(recorder);
  sample_memory(recorder);
  sample_group(recorder);
  if (disks_.is_open()) sample_devices(Counter::node_disks, recorder);
  if (network_.is_open()) sample_devices(Counter::node_network, recorder);
}

void ProcSource::sample_cpu(Recorder& recorder) {
  Timed cpu(Counter::node_cpu);
  if (const auto times = cpu_times(read(cpus_, "node CPU", recorder))) {
    for (std::size_t i = 0; i < times->size(); ++i) cpu.sample.set(i, (*times)[i]);
  }
  put(recorder, cpu);
}

void ProcSource::sample_memory(Recorder& recorder) {
  Timed memory(Counter::node_memory);
  const std::string_view text = read(memory_, "node memory", recorder);
  const auto total = value_of(text, "MemTotal"), available = value_of(text, "MemAvailable");
  const auto swap = value_of(text, "SwapTotal"), swap_free = value_of(text, "SwapFree");
  constexpr std::uint64_t most = UINT64_MAX / bytes_per_kilobyte;
  if (total && available && *available <= *total && *total <= most) {
    memory.sample.set(0, (*total - *available) * bytes_per_kilobyte);
    memory.sample.set(1, *available * bytes_per_kilobyte);
  }
  if (swap && swap_free && *swap_free <= *swap && *swap <= most) {
    memory.sample.set(2, (*swap - *swap_free) * bytes_per_kilobyte);
  }
  put(recorder, memory);
}

void ProcSource::sample_group(Recorder& recorder) {
  Timed memory(Counter::group_memory);
  std::string_view used = read(group_used_, group_name, recorder);
  if (const auto bytes = take_number(used)) memory.sample.set(0, *bytes);
  std::string_view limit = read(group_limit_, group_name, recorder);
  // "max", and version 1's number near 2^63, are no limit.
  constexpr std::uint64_t no_limit = std::uint64_t{1} << 60;
  if (const auto bytes = take_number(limit); bytes && *bytes < no_limit) {
    memory.sample.set(1, *bytes);
  }
  put(recorder, memory);
}

void ProcSource::sample_devices(Counter counter, Recorder& recorder) {
  const bool are_disks = counter == Counter::node_disks;
  const char* const name = are_disks ? "node disks" : "node network";
  DeviceTotals& totals = are_disks ? disk_totals_ : network_totals_;
  Timed timed(counter);
  std::string_view text = read(are_disks ? disks_ : network_, name, recorder);
  // The totals of before are no sample of now: a rate of nothing, and twice as much after it.
  if (text.empty()) return;
  const std::size_t size = text.size();
  totals.begin_round();
  while (const auto line = take_line(text)) {
    const auto device = are_disks ? disk_of(*line) : interface_of(*line);
    if (!device) continue;
    totals.add(device->name, device->bytes, [&](std::string_view device_name) {
      const ClassAnswer answer =
          are_disks ? class_of_disk(root_, device_name) : class_of_interface(root_, device_name);
      if (answer.error != 0) {
        say_not_covered(recorder, std::string(name) + ": " + std::string(device_name),
                        answer.error);
      }
      return answer.device_class;
    });
  }
  // What is longer than the buffer ends with the last line that is whole in it.
  constexpr std::size_t longest_line = 1024;
  if (totals.leaves_out() || size > buffer_.size() - longest_line) {
    recorder.not_covered(std::string(name) + ": more devices than are followed: some are left out");
  }
  if (!totals.has_any()) return;
  // The total lacks what the device did that went backwards: a rate over it would be too low.
  if (!totals.is_good()) return recorder.put_gap(counter, timed.ticks);
  timed.sample.set(0, totals.totals()[0]);
  timed.sample.set(1, totals.totals()[1]);
  put(recorder, timed);
}

}  // namespace traceagent::counters

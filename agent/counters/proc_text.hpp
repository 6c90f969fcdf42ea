#pragma once
// What files of /proc and of control groups say. Whatever their text is: nothing, or a value that
// stands there.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace traceagent::counters {

// The next whole number, which is taken off the text with what is before it on the line. Nothing
// where there is none, or one that 64 bits do not hold.
std::optional<std::uint64_t> take_number(std::string_view& text) noexcept;
// The next word of a line, "" at its end.
std::string_view take_word(std::string_view& line) noexcept;
// The next line without its end, which alone makes it whole: what a cut text ends in is no line.
std::optional<std::string_view> take_line(std::string_view& text) noexcept;

// /proc/<pid>/statm, in pages. Nothing for a process that has no memory any more.
std::optional<std::uint64_t> resident_pages(std::string_view statm) noexcept;
// /proc/<pid>/stat.
std::optional<std::uint64_t> thread_count(std::string_view stat) noexcept;
// "key: value" on a line of /proc/<pid>/io or /proc/meminfo, in their units.
std::optional<std::uint64_t> value_of(std::string_view text, std::string_view key) noexcept;

// The first line of /proc/stat, in the kernel's ticks: user, system, iowait, all.
std::optional<std::array<std::uint64_t, 4>> cpu_times(std::string_view stat) noexcept;

// A line of /proc/diskstats (read and written, in bytes) or of /proc/net/dev (received and sent).
struct DeviceLine {
  std::string_view name;
  std::array<std::uint64_t, 2> bytes;
};
std::optional<DeviceLine> disk_of(std::string_view line) noexcept;
std::optional<DeviceLine> interface_of(std::string_view line) noexcept;

// The control group's folder of memory, below the root of version 2, or of version 1's memory:
// /proc/self/cgroup. "" where it is none.
struct MemoryGroup {
  std::string_view path;
  bool is_v2 = false;
};
std::optional<MemoryGroup> memory_group(std::string_view cgroup) noexcept;

// The path of a group, then those of the groups that hold it, up to "": Slurm's limits are those of
// the job and the step, which hold a task's group. In a container the path may be the host's, of
// which only the last is seen, as "".
std::vector<std::string> group_and_above(std::string_view path);

}  // namespace traceagent::counters

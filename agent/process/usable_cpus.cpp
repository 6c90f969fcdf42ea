#include "agent/process/usable_cpus.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "agent/counters/proc_text.hpp"
#include "agent/process/proc_file.hpp"

namespace traceagent::process {
namespace {

constexpr std::size_t most_bytes = 65536;

// "<quota> <period>", both in microseconds; "max" or -1: none.
double quota_of(const std::string& text) noexcept {
  char* behind = nullptr;
  const double quota = std::strtod(text.c_str(), &behind);
  const double period = std::strtod(behind, nullptr);
  return quota > 0 && period > 0 ? quota / period : 0;
}

double quota_in(const std::string& folder, bool is_v2) {
  if (is_v2) return quota_of(read_proc_file(folder + "/cpu.max", most_bytes).value_or(""));
  const auto quota = read_proc_file(folder + "/cpu.cfs_quota_us", most_bytes);
  if (!quota) return 0;
  return quota_of(*quota + " " +
                  read_proc_file(folder + "/cpu.cfs_period_us", most_bytes).value_or(""));
}

double least_quota(const std::string& base, std::string_view path, bool is_v2) {
  double least = 0;
  for (const std::string& group : counters::group_and_above(path)) {
    const double quota = quota_in(base + group, is_v2);
    if (quota > 0) least = least > 0 ? std::min(least, quota) : quota;
  }
  return least;
}

bool has_cpu(std::string_view controllers) noexcept {
  while (!controllers.empty()) {
    const std::size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == "cpu") return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

}  // namespace

// A line is "<number>:<controllers>:<path>", without controllers in version 2.
double cpu_quota(const std::string& root) {
  const std::string groups = read_proc_file(root + "/proc/self/cgroup", most_bytes).value_or("");
  double least = 0;
  for (std::size_t at = 0; at < groups.size();) {
    const std::size_t end = std::min(groups.find('\n', at), groups.size());
    const std::string line = groups.substr(at, end - at);
    at = end + 1;
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !has_cpu(controllers)) continue;
    const std::string base =
        root + "/sys/fs/cgroup" + (controllers.empty() ? "" : "/" + controllers);
    const double quota = least_quota(base, line.substr(second + 1), controllers.empty());
    if (quota > 0) least = least > 0 ? std::min(least, quota) : quota;
  }
  return least;
}

double usable_cpus(const Cpus& cpus, std::int64_t local_world_size) noexcept {
  const auto ranks = static_cast<double>(std::max<std::int64_t>(local_world_size, 1));
  const double share = std::max(cpus.online / ranks, 1.0);
  const double usable = cpus.allowed > 0 ? std::min<double>(cpus.allowed, share) : share;
  if (cpus.quota <= 0) return usable;
  return std::min(usable, std::max(cpus.quota / ranks, std::min(cpus.quota, 1.0)));
}

double usable_cpus(std::int64_t local_world_size, double quota) noexcept {
  Cpus cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  cpus.online = static_cast<int>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
  cpus.allowed = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
  cpus.quota = quota;
  return usable_cpus(cpus, local_world_size);
}

}  // namespace traceagent::process

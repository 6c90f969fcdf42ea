#include "agent/process/run_launcher.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "agent/process/note_file.hpp"
#include "agent/ring/dead_runs.hpp"
#include "agent/ring/owner.hpp"

namespace traceagent::process {
namespace {

std::string note_of(const RunFolder& folder) { return folder.path + "/" + ring::launcher_note; }

}  // namespace

void note_launcher(const RunFolder& folder, int pid) {
  const auto known_pid = static_cast<std::uint32_t>(pid);
  const std::uint64_t start_time = pid > 0 ? ring::start_time_of(known_pid) : 0;
  const std::uint64_t here = ring::namespace_of_host();
  if (start_time == 0 || here == 0) return;
  make_note(note_of(folder), std::to_string(pid) + " " + std::to_string(start_time) + " " +
                                 std::to_string(here) + "\n");
}

bool has_lost_launcher(const RunFolder& folder) {
  const std::string text = read_note(note_of(folder));
  // The half of it that a killed process wrote is nobody's.
  if (text.empty() || text.back() != '\n') return false;
  char* at = nullptr;
  const auto pid = static_cast<std::uint32_t>(std::strtoul(text.c_str(), &at, 10));
  const std::uint64_t start_time = std::strtoull(at, &at, 10);
  const std::uint64_t made_in = std::strtoull(at, nullptr, 10);
  return made_in != 0 && made_in == ring::namespace_of_host() &&
         !ring::process_lives(pid, start_time);
}

}  // namespace traceagent::process

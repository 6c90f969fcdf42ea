#include "agent/drain/file_names.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "agent/drain/clock.hpp"
#include "agent/event/hash.hpp"

namespace traceagent::drain {
namespace {

constexpr double seconds_per_ns = 1e-9;

std::string with_gzip_suffix(std::string path, bool gzip) {
  if (gzip && !path.ends_with(".gz")) path += ".gz";
  return path;
}

// Null: what each ring names. Never freed: the job's last events are written among its destructors.
const std::string* folder_instead = nullptr;

config::FormattedName folder_of(const ring::Ring& ring, const config::NameVariables& variables) {
  if (folder_instead != nullptr) return {*folder_instead, {}};
  return config::format_name(ring.name(ring.header().identity.output_folder), variables);
}

// Not within a character of UTF-8, of which all bytes but the first are 10xxxxxx.
std::size_t whole_characters(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
  return at;
}

// What was recorded must have a name that can be given to a file: its begin and its end, where rank
// and batch mostly stand, and between them what tells it from others that are as long.
std::string fitting(std::string_view name) {
  if (name.size() <= most_name_bytes) return std::string(name);
  constexpr std::size_t end_bytes = 60;
  constexpr std::size_t hash_digits = 16;
  char hash[hash_digits + 1];
  std::snprintf(hash, sizeof hash, "%016llx",
                static_cast<unsigned long long>(event::hash_text(name)));
  const std::size_t begin = whole_characters(name, most_name_bytes - end_bytes - hash_digits - 2);
  const std::size_t end = whole_characters(name, name.size() - end_bytes + 3);
  return std::string(name.substr(0, begin)) + "~" + hash + "~" + std::string(name.substr(end));
}

// Of a template with folders in it each part.
std::string fitting_path(std::string_view path) {
  std::string whole;
  for (std::size_t from = 0, end = 0; end != std::string_view::npos; from = end + 1) {
    end = path.find('/', from);
    whole += (from > 0 ? "/" : "") + fitting(path.substr(from, end - from));
  }
  return whole;
}

NamedFile in_folder(const ring::Ring& ring, std::uint32_t name_template,
                    const config::NameVariables& variables) {
  const auto folder = folder_of(ring, variables);
  const auto file = config::format_name(ring.name(name_template), variables);
  if (!folder.problem.empty()) return {{}, folder.problem};
  if (!file.problem.empty()) return {{}, file.problem};
  const std::string name = with_gzip_suffix(file.name, ring.header().identity.gzip != 0);
  NamedFile named{folder.name + "/" + fitting_path(name), {}};
  named.is_shortened = !named.path.ends_with(name);
  return named;
}

struct StepTimes {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

StepTimes times_of(const ring::Ring& ring, const event::TickConverter& clock, std::uint64_t step) {
  const ring::StepEdge& edge = ring.header().steps[step % ring::step_slots];
  if (edge.step.load(std::memory_order_relaxed) != step) return {};  // long ago: not kept
  return {clock.realtime_ns(edge.begin_ticks.load(std::memory_order_relaxed)),
          clock.realtime_ns(edge.end_ticks.load(std::memory_order_relaxed))};
}

// Unsigned, which may wrap: a damaged ring's numbers are any.
void set_counts(config::NameVariables& variables, const ring::IdentityBlock& identity,
                std::uint64_t steps_done) {
  const std::uint64_t per_epoch = identity.steps_per_epoch;
  const std::uint64_t epoch = per_epoch > 0 && steps_done > 0 ? (steps_done - 1) / per_epoch : 0;
  const std::uint64_t in_epoch = steps_done - epoch * per_epoch;
  const auto count = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  variables.epoch = count(epoch);
  variables.batch = count(steps_done);
  variables.batch_in_epoch = count(in_epoch);
  variables.sample = count(steps_done * identity.samples_per_step);
  variables.sample_in_epoch = count(in_epoch * identity.samples_per_step);
  variables.token = count(steps_done * identity.tokens_per_step);
  variables.token_in_epoch = count(in_epoch * identity.tokens_per_step);
}

void set_times(config::NameVariables& variables, const ring::Ring& ring,
               const ring::Window& window) {
  const event::TickConverter clock = clock_of(ring);
  const auto anchors = ring::anchors_in(ring.header());
  const std::int64_t start_ns = anchors.empty() ? 0 : clock.realtime_ns(anchors[0].ticks);
  const std::int64_t end_ns = clock.realtime_ns(window.end_ticks.load(std::memory_order_relaxed));
  const std::uint64_t last = window.last_step.load(std::memory_order_relaxed);
  const std::uint64_t per_epoch = ring.header().identity.steps_per_epoch;
  const std::uint64_t epoch_start = per_epoch > 0 ? last / per_epoch * per_epoch : 0;
  const StepTimes first_of_epoch = times_of(ring, clock, epoch_start);
  const StepTimes last_step = times_of(ring, clock, last);
  const std::int64_t epoch_begin_ns =
      first_of_epoch.begin_ns != 0 ? first_of_epoch.begin_ns : start_ns;
  variables.total_wct = static_cast<double>(end_ns - start_ns) * seconds_per_ns;
  variables.epoch_wct = static_cast<double>(end_ns - epoch_begin_ns) * seconds_per_ns;
  variables.batch_wct = static_cast<double>(last_step.end_ns - last_step.begin_ns) * seconds_per_ns;
}

}  // namespace

namespace {

std::string with_suffix(const std::string& path, const std::string& suffix) {
  const std::size_t slash = path.rfind('/');
  const std::size_t dot = path.rfind(".json");
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash)) return path + suffix;
  return path.substr(0, dot) + suffix + path.substr(dot);
}

}  // namespace

std::string shortened_in_words(std::string_view option, const std::string& path) {
  return std::string(option) + ": the name is too long for a file: written as " + path +
         ": choose a shorter one";
}

std::string with_pid(const std::string& path, std::uint32_t pid) {
  return name_at_attempt(path, pid, 1);
}

std::string name_at_attempt(const std::string& path, std::uint32_t pid, int attempt) {
  if (attempt == 0) return path;
  const std::string number = attempt > 1 ? "-" + std::to_string(attempt) : "";
  return with_suffix(path, "-pid" + std::to_string(pid) + number);
}

bool is_own_file(const ring::Ring& ring, const std::string& path) {
  const auto& windows = ring.header().windows;
  return std::any_of(windows.begin(), windows.end(), [&](const ring::Window& window) {
    return ring.name(window.file_name) == path;
  });
}

bool is_compressed(const ring::Ring& ring, const std::string& path) noexcept {
  return ring.header().identity.gzip != 0 || path.ends_with(".gz");
}

config::NameVariables run_variables(const ring::Ring& ring) {
  const ring::IdentityBlock& identity = ring.header().identity;
  config::NameVariables variables;
  variables.run_name = ring.name(identity.run_name);
  variables.rank = identity.rank;
  variables.local_rank = identity.local_rank;
  variables.world_size = identity.world_size;
  variables.local_world_size = identity.local_world_size;
  variables.node_rank = identity.node_rank;
  return variables;
}

std::string output_folder(const ring::Ring& ring) {
  return folder_of(ring, run_variables(ring)).name;
}

void use_output_folder(const std::string& folder) { folder_instead = new std::string(folder); }

config::NameVariables window_variables(const ring::Ring& ring, const ring::Window& window) {
  config::NameVariables variables = run_variables(ring);
  const std::uint64_t last = window.last_step.load(std::memory_order_relaxed);
  set_counts(variables, ring.header().identity, window.is_startup != 0 ? 0 : last + 1);
  set_times(variables, ring, window);
  return variables;
}

namespace {

// Whether another rank's file of the same steps would have another name.
bool tells_ranks_apart(const ring::Ring& ring, const config::NameVariables& variables,
                       const std::string& path) {
  const ring::IdentityBlock& identity = ring.header().identity;
  config::NameVariables peer = variables;
  peer.rank = identity.rank + 1;
  peer.local_rank = identity.local_rank + 1;
  config::NameVariables remote = variables;
  remote.rank = identity.rank + 1;
  remote.node_rank = identity.node_rank + 1;
  const auto is_other = [&](const config::NameVariables& other) {
    return in_folder(ring, identity.file_template, other).path != path;
  };
  return (identity.local_world_size <= 1 || is_other(peer)) &&
         (identity.world_size <= identity.local_world_size || is_other(remote));
}

}  // namespace

NamedFile rank_file_name(const ring::Ring& ring, const ring::Window& window) {
  const config::NameVariables variables = window_variables(ring, window);
  const ring::IdentityBlock& identity = ring.header().identity;
  NamedFile file = in_folder(ring, identity.file_template, variables);
  // Who may replace files must not replace other ranks'; else a name that is taken is evaded.
  file.is_of_several_ranks = file.problem.empty() && !tells_ranks_apart(ring, variables, file.path);
  if (file.is_of_several_ranks && identity.overwrite_files != 0) {
    file.path = with_suffix(file.path, "-rank" + std::to_string(identity.rank));
  }
  if (file.problem.empty() && identity.trace_pid != identity.rank) {
    file.path = with_pid(file.path, ring.header().owner_pid);
  }
  return file;
}

NamedFile node_file_name(const ring::Ring& ring) {
  if (ring.header().identity.merged_name == 0) return {};
  return in_folder(ring, ring.header().identity.merged_name, run_variables(ring));
}

}  // namespace traceagent::drain

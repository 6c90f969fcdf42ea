#include "agent/process/run_name.hpp"

#include <algorithm>
#include <ctime>

#include "agent/event/fork_hold.hpp"
#include "agent/event/ticks.hpp"

namespace traceagent::process {
namespace {

using config::Environment;

constexpr std::size_t longest_key = 96;

// FNV-1a: the same on all nodes whatever their library, and good enough to tell runs apart.
std::string hash_in_hex(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[(hash >> shift) & 15];
  return digits;
}

std::string as_key(const std::string& text) {
  std::string key;
  for (const char c : text) {
    const bool is_kept = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                         (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '-';
    key += is_kept && !(c == '.' && key.empty()) ? c : '_';
  }
  if (key == text && key.size() <= longest_key) return key;
  const std::string hash = hash_in_hex(text);
  return key.substr(0, longest_key - hash.size() - 1) + '-' + hash;
}

void join(std::string& text, std::string_view part) {
  if (part.empty()) return;
  if (!text.empty()) text += '-';
  text += part;
}

std::string value(const Environment& environment, std::string_view name) {
  return std::string(environment.get(name).value_or(""));
}

std::string attempt_of(const Environment& environment) {
  std::string attempt;
  const std::string requeued = value(environment, "SLURM_RESTART_COUNT");
  const std::string restarted = value(environment, "TORCHELASTIC_RESTART_COUNT");
  if (!requeued.empty() && requeued != "0") join(attempt, "requeue" + requeued);
  if (!restarted.empty() && restarted != "0") join(attempt, "attempt" + restarted);
  return attempt.empty() ? attempt : as_key(attempt);
}

// The ids that a launcher gives to all ranks of a job alike.
std::string ids_of_job(const Environment& environment, const RunFacts& run) {
  std::string ids;
  if (const std::string job = value(environment, "SLURM_JOB_ID"); !job.empty()) {
    join(ids, "slurm" + job);
    // Under mpirun the step is that of its daemons, which the first node's ranks do not have.
    const std::string step = value(environment, "SLURM_STEP_ID");
    if (run.is_slurm_step && !step.empty()) ids += '.' + step;
  }
  std::string mpi = value(environment, "PMIX_NAMESPACE");
  if (mpi.empty()) mpi = value(environment, "OMPI_MCA_ess_base_jobid");
  join(ids, mpi);
  // Open MPI 4 draws a random number for each run; its job numbers come back after a while.
  const std::string drawn = value(environment, "OMPI_MCA_orte_precondition_transports");
  if (!drawn.empty()) join(ids, hash_in_hex(drawn).substr(0, 8));
  const std::string elastic = value(environment, "TORCHELASTIC_RUN_ID");
  if (elastic != "none") join(ids, elastic);
  join(ids, value(environment, "MASTER_ADDR"));
  join(ids, value(environment, "MASTER_PORT"));
  return ids;
}

bool is_rank(const ProcFacts& facts, const ProcessFacts& process, const RunFacts& run) {
  const bool has_variable =
      std::ranges::any_of(process.rank_variables, [&](const std::string& name) {
        return std::ranges::find(run.rank_variables, name) != run.rank_variables.end();
      });
  return has_variable ||
         (run.is_launched && facts.holds_rank && facts.holds_rank(process, run.rank));
}

// The nearest ancestor without any of the variables that make this process a rank: what is between
// it and us (a shell, a wrapper) is there once for each rank. Null when it cannot be told.
const ProcessFacts* find_launcher(const ProcFacts& facts, const RunFacts& run) {
  for (std::size_t i = 1; i < facts.chain.size(); ++i) {
    const ProcessFacts& ancestor = facts.chain[i];
    if (is_rank(facts, ancestor, run)) continue;
    return ancestor.environment_known ? &ancestor : nullptr;
  }
  return nullptr;
}

bool is_python_worker(const std::vector<std::string>& command) {
  return std::ranges::any_of(command, [](const std::string& argument) {
    return argument == "--multiprocessing-fork" || argument.starts_with("from multiprocessing.");
  });
}

bool is_worker_of(const ProcessFacts& process, const ProcessFacts& parent) {
  return is_python_worker(process.command) ||
         (!process.command.empty() && process.command == parent.command);
}

// A single process's children by fork, and Python's by spawn, belong to the same run.
const ProcessFacts& first_of_program(const ProcFacts& facts) {
  std::size_t i = 0;
  while (i + 1 < facts.chain.size() && is_worker_of(facts.chain[i], facts.chain[i + 1])) ++i;
  return facts.chain[i];
}

std::size_t first_of_rank(const ProcFacts& facts, const RunFacts& run) {
  std::size_t i = 0;
  while (i + 1 < facts.chain.size() && (is_worker_of(facts.chain[i], facts.chain[i + 1]) ||
                                        is_rank(facts, facts.chain[i + 1], run))) {
    ++i;
  }
  return i;
}

// In a container a pid is mostly 1, and many start in one second with one folder between them.
std::string mark_of_container(const ProcFacts& facts, const ProcessFacts& process) {
  if (facts.pid_namespace.empty()) return {};
  const std::string start = std::to_string(process.start_ticks);
  return hash_in_hex(facts.host + ' ' + facts.pid_namespace + ' ' + start).substr(0, 6);
}

std::string id_of(const ProcFacts& facts, const ProcessFacts& process) {
  std::string id = std::to_string(process.pid) + '.' + std::to_string(process.start_ticks);
  join(id, mark_of_container(facts, process));
  return id;
}

// 20261120-214800, UTC. Boot time and ticks are the same for all who ask, unless the clock is set
// between them: the current time would not be.
std::string start_time(const ProcFacts& facts, const ProcessFacts& process) {
  const auto since_boot_s = static_cast<std::int64_t>(process.start_ticks) / facts.ticks_per_second;
  const std::time_t seconds = facts.boot_time_s + since_boot_s;
  std::tm parts{};
  char text[32] = {};
  const event::ForkHold hold;  // of the time zones' lock
  if (gmtime_r(&seconds, &parts) == nullptr) return {};
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &parts);
  return text;
}

std::string_view file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// The script or module among Python's arguments; empty for -c, standard input and no script.
std::string_view python_script(const std::vector<std::string>& command) {
  for (std::size_t i = 1; i < command.size(); ++i) {
    const std::string_view argument = command[i];
    if (!argument.starts_with('-')) return argument;
    if (argument == "-" || argument.starts_with("--")) continue;
    // One-letter options may stand together; of these four the rest or the next is the value.
    const std::size_t letter = argument.find_first_of("mcWX", 1);
    if (letter == std::string_view::npos) continue;
    const bool value_follows = letter + 1 == argument.size();
    if (argument[letter] == 'c') return {};
    if (argument[letter] == 'm') {
      if (!value_follows) return argument.substr(letter + 1);
      return i + 1 < command.size() ? std::string_view(command[i + 1]) : std::string_view();
    }
    if (value_follows) ++i;
  }
  return {};
}

std::string name_with_time(const ProcFacts& facts, const ProcessFacts& process) {
  std::string name = program_name(facts);
  join(name, start_time(facts, process));
  join(name, std::to_string(process.pid));
  join(name, mark_of_container(facts, process));
  return name;
}

RunName name_single(const ProcFacts& facts) {
  const ProcessFacts& first = first_of_program(facts);
  return {as_key(std::string(single_process_key) + id_of(facts, first)),
          name_with_time(facts, first),
          {},
          {}};
}

RunName name_launched(const Environment& environment, const ProcFacts& facts, const RunFacts& run) {
  const std::string ids = ids_of_job(environment, run);
  const bool has_step = run.is_slurm_step && ids.starts_with("slurm");
  const bool needs_launcher = !has_step && ((run.is_one_node && run.has_launcher) || ids.empty());
  const ProcessFacts* const launcher = needs_launcher ? find_launcher(facts, run) : nullptr;
  std::string key = ids;
  if (launcher != nullptr) join(key, "launcher-" + id_of(facts, *launcher));
  RunName result;
  if (key.empty()) {
    const bool has_parent = facts.chain.size() > 1;
    key = "parent-" + id_of(facts, facts.chain[has_parent ? 1 : 0]);
    // Without /proc, or as the first process of a container.
    if (!has_parent) {
      result.problem =
          "run: neither a variable nor /proc says what started this rank: its job's ranks do not "
          "find each other, and each has a node file of its own: set MASTER_ADDR and MASTER_PORT "
          "alike for all of them, or use `traceagent merge`";
    }
  }
  result.key = as_key(key);
  result.name = program_name(facts);
  if (launcher != nullptr) {
    result.name = name_with_time(facts, *launcher);
  } else if (has_step) {
    join(result.name, as_key(ids.substr(0, ids.find('-'))));
  } else {
    join(result.name, hash_in_hex(key).substr(0, 8));
  }
  return result;
}

}  // namespace

std::string program_name(const ProcFacts& facts) {
  const std::vector<std::string>* command =
      facts.command_at_load.empty() ? &facts.chain[0].command : &facts.command_at_load;
  if (is_python_worker(*command)) command = &first_of_program(facts).command;
  if (command->empty()) return "program";
  std::string_view name = file_name((*command)[0]);
  if (name.starts_with("python")) {
    const std::string_view script = file_name(python_script(*command));
    if (!script.empty()) name = script;
    if (name.ends_with(".py")) name.remove_suffix(3);
  }
  return name.empty() ? "program" : as_key(std::string(name.substr(0, 64)));
}

namespace {

// CLOCK_REALTIME; now, where it is not known.
std::int64_t start_ns(const ProcFacts& facts, const ProcessFacts& process) {
  constexpr double second_ns = 1e9;
  const auto now_ns = static_cast<std::int64_t>(event::clock_ns(CLOCK_REALTIME));
  if (process.start_ticks == 0) return now_ns;
  // By the age, not the time of boot, which /proc/stat gives in whole seconds.
  const auto since_boot_ns =
      static_cast<std::int64_t>(static_cast<double>(process.start_ticks) * second_ns /
                                static_cast<double>(facts.ticks_per_second));
  const std::int64_t age_ns =
      static_cast<std::int64_t>(event::clock_ns(CLOCK_BOOTTIME)) - since_boot_ns;
  return now_ns - std::max<std::int64_t>(age_ns, 0);
}

}  // namespace

std::int64_t rank_start_ns(const ProcFacts& facts, const RunFacts& run) {
  return start_ns(facts, facts.chain[first_of_rank(facts, run)]);
}

int launcher_of_rank(const ProcFacts& facts, const RunFacts& run) {
  const std::size_t launcher = first_of_rank(facts, run) + 1;
  return launcher < facts.chain.size() ? facts.chain[launcher].pid : 0;
}

std::vector<Forebear> family_of_rank(const ProcFacts& facts, const RunFacts& run) {
  std::vector<Forebear> family;
  const std::size_t launcher = first_of_rank(facts, run) + 1;
  for (std::size_t i = 0; i < facts.chain.size() && i <= launcher; ++i) {
    family.push_back({facts.chain[i].pid, start_ns(facts, facts.chain[i])});
  }
  return family;
}

RunName name_run(const Environment& environment, const ProcFacts& facts, const RunFacts& run) {
  RunName result = run.is_launched ? name_launched(environment, facts, run) : name_single(facts);
  result.attempt = attempt_of(environment);
  if (!result.attempt.empty()) {
    result.key = as_key(result.key + '-' + result.attempt);
    join(result.name, result.attempt);
  }
  return result;
}

}  // namespace traceagent::process

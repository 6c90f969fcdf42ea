#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "agent/drain/file_names.hpp"
#include "config/options.hpp"
#include "config/units.hpp"
#include "tools/command_line.hpp"
#include "tools/dead_rings.hpp"
#include "tools/dead_runs.hpp"
#include "tools/followed_run.hpp"
#include "tools/given_path.hpp"
#include "tools/losses.hpp"
#include "tools/recover_run.hpp"
#include "tools/run_watch.hpp"

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;

struct RecoverArguments {
  std::vector<std::string> inputs;
  bool keep = false;
  bool all = false;
  bool no_merge = false;
  bool wait = false;
  bool list = false;
  bool discard = false;
  bool any_size = false;
  std::optional<std::string> older_than;
  std::string log;
  std::string output;
};

// What is left of runs in the folder, or of the one that it is, by whatever name.
void tell_of_ringless_runs(const std::string& given, bool are_kept) {
  std::error_code error;
  const fs::path folder = fs::canonical(given, error);
  if (error) return;  // it went with its last ring
  const std::vector<std::string> runs = runs_in(folder.string());
  if (!are_kept) {
    tell_of_private_workers(remove_ringless_runs(runs));
    return remove_empty_users_folder(folder.string());
  }
  ring::PrivateKilled killed;
  for (const std::string& run : runs) killed += private_workers_killed(run);
  tell_of_private_workers(killed);
}

std::vector<std::string> default_inputs() {
  const config::Loaded loaded = config::load(config::Environment::of_process());
  return {users_ring_folder(loaded.options.ring_folder)};
}

// Who names no run means the one that died just now: where there are more, it is not ours to guess.
bool is_one_run(const DeadRings& rings) {
  const std::vector<std::string> runs = runs_of(rings.paths);
  if (runs.size() <= 1) return true;
  for (const std::string& run : runs) {
    std::cout << run << ": " << in_words(names_in(run, rings.paths).size(), "ring") << "\n";
  }
  say("processes of " + std::to_string(runs.size()) +
      " runs died: name one of the folders above, or add --all");
  return false;
}

// Whole runs, so that none is left with half of its ranks.
int list_or_discard(const RecoverArguments& arguments, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    std::error_code ignored;
    if (fs::is_regular_file(folder, ignored)) {
      say(folder + ": is one ring: name the folder of its run");
      return exit_usage;
    }
  }
  if (arguments.list) return list_dead_runs(folders) ? exit_ok : exit_bad_data;
  config::Quantity older_than;
  // A variable that is not set is no age of 0: it would remove what died a moment ago.
  if (arguments.older_than) older_than = config::parse_duration(*arguments.older_than);
  if (!older_than.problem.empty()) {
    say("--older-than: \"" + *arguments.older_than + "\": " + older_than.problem);
    return exit_usage;
  }
  return discard_dead_runs(folders, older_than.value) ? exit_ok : exit_bad_data;
}

int recover_rings(const RecoverArguments& arguments, const std::vector<std::string>& inputs) {
  std::error_code ignored;
  const bool is_empty =
      arguments.inputs.empty() && !fs::exists(inputs.front(), ignored) && !ignored;
  if (!arguments.output.empty()) {
    drain::use_output_folder(fs::absolute(arguments.output).lexically_normal().string());
  }
  const DeadRings rings = is_empty ? DeadRings{} : find_dead_rings(inputs);
  for (const std::string& path : rings.left) {
    std::cout << path << ": left: its run still goes on and will recover it at its end\n";
  }
  for (const std::string& problem : rings.problems) say(problem);
  if (rings.paths.empty() && rings.left.empty() && rings.problems.empty()) {
    std::cout << inputs.front() << ": no ring of a dead process\n";
  }
  if (arguments.inputs.empty() && !arguments.all && !is_one_run(rings)) {
    return exit_usage;
  }
  const RunRecovery how{arguments.keep, arguments.no_merge, arguments.any_size, arguments.wait,
                        !arguments.output.empty()};
  bool ok = rings.problems.empty();
  for (const std::string& run : runs_of(rings.paths)) {
    ok = recover_run(run.empty() ? "." : run, names_in(run, rings.paths), how) && ok;
  }
  for (const std::string& input : inputs) tell_of_ringless_runs(input, arguments.keep);
  return ok ? exit_ok : exit_bad_data;
}

// Until nothing of the run lives.
int keep(const RecoverArguments& arguments, const std::string& folder) {
  const FollowedRun run(folder);
  const RunEnd end = wait_for_end_of_run(run);
  if (end == RunEnd::cleaned_up) return exit_ok;
  if (!arguments.log.empty()) print_for(arguments.log);
  int code = exit_bad_data;
  if (end == RunEnd::is_its_child) {
    say("keeper: " + run.name() + ": its process " + std::to_string(getppid()) +
        " takes orphans, this one too, and may wait for the end of all its children: this one "
        "ends");
  } else {
    std::vector<std::string> inputs = arguments.inputs;
    // The user's own folder: nobody sets that aside.
    if (inputs.empty())
      inputs = default_inputs();
    else
      inputs.front() = run.held();
    code = recover_rings(arguments, inputs);
  }
  if (code != exit_ok) open_log();
  return code;
}

int recover(const RecoverArguments& arguments) {
  const std::vector<std::string> inputs =
      arguments.inputs.empty() ? default_inputs() : arguments.inputs;
  if (arguments.list || arguments.discard) return list_or_discard(arguments, inputs);
  return arguments.wait ? keep(arguments, inputs.front()) : recover_rings(arguments, inputs);
}

}  // namespace

void add_recover_command(CLI::App& app, int& exit_code) {
  CLI::App* const command =
      app.add_subcommand("recover", "Write what killed processes had recorded into rank files");
  const auto arguments = std::make_shared<RecoverArguments>();
  command
      ->add_option(
          "inputs", arguments->inputs,
          "Rings, or folders of them; without: of this user's only dead run under ring.folder")
      ->check(is_there());
  CLI::Option* const keep =
      command->add_flag("--keep", arguments->keep, "Leave the rings in memory");
  command->add_flag("--no-merge", arguments->no_merge,
                    "Write rank files only, and no file of the node");
  CLI::Option* const wait = command->add_flag(
      "--wait", arguments->wait, "Wait until no process of the run, a folder of rings, lives");
  command->add_option("--log", arguments->log, "Add what is said to this file, once it is worth it")
      ->needs(wait);
  CLI::Option* const output = command->add_option(
      "-o,--output", arguments->output,
      "Write into this folder, not where the job would have written: its own cannot be written");
  command->add_flag("--all", arguments->all, "Of all dead runs, where none is named");
  command->add_flag("--any-size", arguments->any_size,
                    "Also what takes more than 64 times the memory of its ring: long names in a "
                    "small ring, or a damaged one");
  CLI::Option* const list = command->add_flag("--list", arguments->list,
                                              "Show the runs of dead jobs, and recover nothing");
  CLI::Option* const discard = command->add_flag(
      "--discard", arguments->discard,
      "Remove what dead jobs of yours left in memory, whole runs, and recover nothing");
  discard->excludes(list)->excludes(keep)->excludes(wait);
  output->excludes(list)->excludes(discard);
  command
      ->add_option("--older-than", arguments->older_than,
                   "Leave runs of which some process lived less long ago, such as 7d or 12h")
      ->needs(discard);
  command->footer(
      "Files appear where the job would have written them, the node's file too when all of its\n"
      "processes are dead; the rings then go, unless --keep.\n"
      "Exits with 1 when a ring was damaged, of another version, or could not be written.\n"
      "examples:\n"
      "  traceagent recover\n"
      "  traceagent recover --all\n"
      "  traceagent recover /dev/shm/traceagent-1000/slurm123 --output /scratch/traces\n"
      "  traceagent recover --list\n"
      "  traceagent recover --discard --older-than 7d\n"
      "  traceagent recover --wait /dev/shm/traceagent-1000/slurm123\n"
      "  traceagent recover --keep /dev/shm/traceagent-1000/slurm123/0-4711-0.ring");
  command->callback([arguments, &exit_code] { exit_code = recover(*arguments); });
}

}  // namespace traceagent::tools

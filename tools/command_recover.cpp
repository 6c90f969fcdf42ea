#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "agent/drain/file_names.hpp"
#include "agent/drain/recover_ring.hpp"
#include "agent/ring/recovery_note.hpp"
#include "agent/ring/written_files.hpp"
#include "agent/trace/queued_files.hpp"
#include "agent/trace/upload_journal.hpp"
#include "config/command_words.hpp"
#include "config/options.hpp"
#include "config/units.hpp"
#include "tools/command_line.hpp"
#include "tools/dead_rings.hpp"
#include "tools/dead_runs.hpp"
#include "tools/given_path.hpp"
#include "tools/losses.hpp"
#include "tools/node_files.hpp"
#include "tools/run_watch.hpp"
#include "tools/temporary_files.hpp"

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

struct Outcome {
  bool is_good = false;
  bool is_unwritten = false;  // it was read, and not all could be written
};

// Prints what came of it.
Outcome recover_one(const std::string& path, bool any_size) {
  const drain::Recovered recovered = drain::recover_ring(path, any_size);
  for (const drain::RecoveredFile& file : recovered.files) {
    std::cout << file.path << ": rank " << recovered.rank << ", " << in_words(file.events, "event")
              << " recovered\n";
  }
  if (recovered.queued > 0) {
    std::cout << path << ": rank " << recovered.rank << ": " << in_words(recovered.queued, "file")
              << " waited for room in the queue of uploads: queued\n";
  }
  if (recovered.lost > 0) {
    std::cout << "missing: rank " << recovered.rank << ": " << in_words(recovered.lost, "event")
              << " found no room in the ring: raise ring.size\n";
  }
  if (recovered.overwritten > 0) {
    std::cout << "rank " << recovered.rank << ": " << in_words(recovered.overwritten, "older event")
              << " gave way to newer ones (ring.full: overwrite): a larger ring.size keeps more\n";
  }
  if (!recovered.nothing.empty()) {
    std::cout << path << ": nothing to recover: " << recovered.nothing << "\n";
  }
  for (const std::string& problem : recovered.problems) {
    say(problem);
  }
  for (const std::string& note : recovered.notes) {
    say(note);
  }
  const bool is_good = recovered.problems.empty();
  return {is_good, !is_good && recovered.rank >= 0};
}

// False when something is wrong. Where no file was wanted or there is nothing to join, says how.
bool join_ranks(const std::vector<std::string>& rings, const std::set<std::string>& folders) {
  const NodeFile node = make_node_file(rings);
  if (node.path.empty()) {
    for (const std::string& folder : folders) {
      std::cout << "to join the ranks: traceagent merge " << config::shell_word(folder) << "\n";
    }
    return true;
  }
  for (const std::string& note : node.notes) {
    say(note);
  }
  if (!node.problem.empty()) {
    say(node.problem);
    return false;
  }
  std::cout << node.path << ": " << node.summary << "\n";
  for (const std::int64_t rank : node.missing_ranks) {
    std::cout << "missing: rank " << rank << ": it left no events\n";
  }
  if (!node.include.empty()) {
    std::cout << "missing: other profilers' traces (merge.include: " << node.include
              << "): add them by traceagent merge " << config::shell_word(node.path) << " -o "
              << config::shell_word(node.path) << " --force --align none --include PATTERN"
              << (node.include_once.empty()
                      ? ""
                      : " --include-once " + config::shell_word(node.include_once))
              << "\n";
  }
  return node.notes.empty();
}

// All hosts'; a folder of them may have locks alone.
std::vector<std::string> queues_of(const std::string& folder) {
  std::vector<std::string> queues;
  std::error_code error;
  fs::directory_iterator at(trace::upload_folder(folder), error);
  for (const fs::directory_iterator end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".journal") queues.push_back(at->path().string());
  }
  return queues;
}

// Recovered files that the job would have uploaded are queued.
void tell_of_uploads(const std::set<std::string>& folders, bool is_keeper) {
  for (const std::string& folder : folders) {
    const std::vector<std::string> queues = queues_of(folder);
    const bool is_waiting = std::any_of(queues.begin(), queues.end(), [](const std::string& queue) {
      return trace::pending_uploads(queue) > 0;
    });
    // It also removes what is there and not to be kept.
    if (is_keeper && !queues.empty()) {
      start_uploader(folder);
    } else if (!is_keeper && is_waiting) {
      std::cout << "to upload what is queued: traceagent upload --resume "
                << config::shell_word(folder) << "\n";
    }
  }
}

void tell_of_private_workers(const ring::PrivateKilled& killed) {
  if (killed.count() == 0) return;
  std::cout << "missing: " << ring::in_words(killed)
            << " of the job had recorded in private memory and "
            << (killed.count() == 1 ? "was" : "were")
            << " killed: what was not written yet "
               "is lost\n";
}

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

enum class Turn { ours, not_needed, never };

// An epilogue must not hang where the keeper does (an output folder on a server that is away).
Turn wait_for_turn(ring::RecoveryNote& note, const std::string& run,
                   std::vector<std::string>& rings) {
  constexpr auto look_period = std::chrono::milliseconds(50);
  constexpr auto patience = std::chrono::minutes(10);
  const auto end = std::chrono::steady_clock::now() + patience;
  std::string other;
  const auto is_gone = [](const std::string& path) {
    return access(path.c_str(), F_OK) != 0 && errno == ENOENT;
  };
  while (!note.take()) {
    const bool is_first = other.empty();
    other = note.holder() == 0 ? "another process" : "process " + std::to_string(note.holder());
    if (is_first) {
      std::cout << run << ": " << other << " recovers it: waiting, ten minutes at most"
                << std::endl;
    }
    if (std::chrono::steady_clock::now() >= end) {
      say(run + ": " + other + " still recovers it: end it, or wait, and recover again");
      return Turn::never;
    }
    std::this_thread::sleep_for(look_period);
  }
  // It may also have been done before we asked.
  std::erase_if(rings, is_gone);
  if (!rings.empty()) return Turn::ours;
  std::cout << run << ": " << (other.empty() ? "another process" : other) << " has recovered it\n";
  return Turn::not_needed;
}

// The rings go last of all: whoever is killed in here leaves all that a second run needs.
bool recover_run(std::vector<std::string> rings, const RecoverArguments& arguments) {
  const std::string run = fs::path(rings.front()).parent_path().string();
  ring::RecoveryNote note(run.empty() ? "." : run);
  const Turn turn = wait_for_turn(note, run, rings);
  if (turn != Turn::ours) return turn == Turn::not_needed;
  bool ok = true;
  bool is_any_unwritten = false;
  std::vector<std::string> done;
  std::set<std::string> folders;
  for (const std::string& path : rings) {
    const Outcome outcome = recover_one(path, arguments.any_size);
    if (outcome.is_good) done.push_back(path);
    ok = outcome.is_good && ok;
    is_any_unwritten = outcome.is_unwritten || is_any_unwritten;
    // Also what it wrote itself: its run may have ended with nobody left to merge.
    for (const std::string& file : ring::written_files(path)) {
      folders.insert(fs::path(file).parent_path().string());
    }
  }
  if (is_any_unwritten && arguments.output.empty()) {
    std::cout << "where its folder cannot be written: traceagent recover "
              << (run.empty() ? "." : config::shell_word(run)) << " --output FOLDER\n";
  }
  tell_of_private_workers(private_workers_killed(run));
  for (const std::string& folder : folders) remove_old_temporaries(folder);
  if (!arguments.no_merge && is_whole_dead_run(rings)) {
    if (!join_ranks(rings, folders)) return false;
  } else {
    for (const std::string& folder : folders) {
      std::cout << "to join the ranks: traceagent merge " << config::shell_word(folder) << "\n";
    }
  }
  tell_of_uploads(folders, arguments.wait);
  if (!arguments.keep) {
    for (const std::string& path : done) {
      const std::string problem = remove_dead_ring(path);
      if (!problem.empty()) say(problem);
      ok = problem.empty() && ok;
    }
  }
  return ok;
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
    std::cout << run << ": " << in_words(rings_in(run, rings.paths).size(), "ring") << "\n";
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

int recover_rings(const RecoverArguments& arguments) {
  const std::vector<std::string> inputs =
      arguments.inputs.empty() ? default_inputs() : arguments.inputs;
  if (arguments.list || arguments.discard) return list_or_discard(arguments, inputs);
  std::error_code ignored;
  const bool is_empty =
      arguments.inputs.empty() && !fs::exists(inputs.front(), ignored) && !ignored;
  if (arguments.wait && !wait_for_end_of_run(inputs.front())) return exit_ok;
  if (!arguments.log.empty()) print_into(arguments.log);
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
  bool ok = rings.problems.empty();
  for (const std::string& run : runs_of(rings.paths)) {
    ok = recover_run(rings_in(run, rings.paths), arguments) && ok;
  }
  for (const std::string& input : inputs) tell_of_ringless_runs(input, arguments.keep);
  return ok ? exit_ok : exit_bad_data;
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
  command->add_option("--log", arguments->log, "Add what is said to this file")->needs(wait);
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
  command->callback([arguments, &exit_code] { exit_code = recover_rings(*arguments); });
}

}  // namespace traceagent::tools

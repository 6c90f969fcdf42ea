#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>

#include "agent/drain/recover_ring.hpp"
#include "agent/ring/written_files.hpp"
#include "config/options.hpp"
#include "tools/command_line.hpp"
#include "tools/dead_rings.hpp"

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;

struct RecoverArguments {
  std::vector<std::string> inputs;
  bool keep = false;
  bool all = false;
};

std::string in_words(std::uint64_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// True when nothing is wrong with it; `folders` gets where its files are.
bool recover_one(const std::string& path, bool keep, std::set<std::string>& folders) {
  const drain::Recovered recovered = drain::recover_ring(path);
  for (const drain::RecoveredFile& file : recovered.files) {
    std::cout << file.path << ": rank " << recovered.rank << ", " << in_words(file.events, "event")
              << " recovered\n";
  }
  // Also what it wrote itself: its run may have ended with nobody left to merge.
  for (const std::string& file : ring::written_files(path)) {
    folders.insert(fs::path(file).parent_path().string());
  }
  if (recovered.lost > 0) {
    std::cout << "missing: rank " << recovered.rank << ": " << in_words(recovered.lost, "event")
              << " found no room in the ring: raise ring.size\n";
  }
  if (!recovered.nothing.empty()) {
    std::cout << path << ": nothing to recover: " << recovered.nothing << "\n";
  }
  for (const std::string& problem : recovered.problems) {
    say(problem);
  }
  if (!recovered.problems.empty()) {
    return false;
  }
  if (!keep) {
    remove_dead_ring(path);
  }
  return true;
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
    const auto count = std::count_if(rings.paths.begin(), rings.paths.end(), [&](const auto& ring) {
      return fs::path(ring).parent_path() == run;
    });
    std::cout << run << ": " << in_words(static_cast<std::uint64_t>(count), "ring") << "\n";
  }
  say("processes of " + std::to_string(runs.size()) +
      " runs died: name one of the folders above, or add --all");
  return false;
}

int recover_rings(const RecoverArguments& arguments) {
  const std::vector<std::string> inputs =
      arguments.inputs.empty() ? default_inputs() : arguments.inputs;
  std::error_code ignored;
  const bool is_empty = arguments.inputs.empty() && !fs::exists(inputs.front(), ignored);
  const DeadRings rings = is_empty ? DeadRings{} : find_dead_rings(inputs);
  for (const std::string& path : rings.left) {
    std::cout << path << ": left: its run still goes on and will recover it at its end\n";
  }
  if (rings.paths.empty() && rings.left.empty()) {
    std::cout << inputs.front() << ": no ring of a dead process\n";
  }
  if (arguments.inputs.empty() && !arguments.all && !is_one_run(rings)) {
    return exit_usage;
  }
  bool ok = true;
  std::set<std::string> folders;
  for (const std::string& path : rings.paths) {
    ok = recover_one(path, arguments.keep, folders) && ok;
  }
  for (const std::string& folder : folders) {
    std::cout << "to join the ranks: traceagent merge " << folder << "\n";
  }
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
      ->check(CLI::ExistingPath);
  command->add_flag("--keep", arguments->keep, "Leave the rings in memory");
  command->add_flag("--all", arguments->all, "Of all dead runs, where none is named");
  command->footer(
      "Files appear where the job would have written them; the rings then go, unless --keep.\n"
      "Exits with 1 when a ring was damaged, of another version, or could not be written.\n"
      "examples:\n"
      "  traceagent recover\n"
      "  traceagent recover --all\n"
      "  traceagent recover --keep /dev/shm/traceagent-1000/slurm123/0-4711-0.ring");
  command->callback([arguments, &exit_code] { exit_code = recover_rings(*arguments); });
}

}  // namespace traceagent::tools

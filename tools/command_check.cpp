#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>

#include "agent/trace/json_scan.hpp"
#include "agent/trace/trace_reader.hpp"
#include "tools/agent_library.hpp"
#include "tools/check_foreign.hpp"
#include "tools/check_report.hpp"
#include "tools/check_trace.hpp"
#include "tools/command_line.hpp"
#include "tools/folder_options.hpp"
#include "tools/given_path.hpp"
#include "tools/trace_files.hpp"

namespace traceagent::tools {

namespace {

int check_machine() {
  CheckReport report;
  const AgentLibrary library = find_agent_library();
  check_library(library, report);
  check_doors(library, report);
  check_places(report);
  std::cout << report.text() << "\n" << report.legend();
  if (report.problems() == 0) {
    std::cout << "The agent would work here.\n";
    return exit_ok;
  }
  std::cout << "The agent would not work here as it should: see NO above.\n";
  return exit_bad_data;
}

// `is_brief`: one of many, of which those are shown that lack something.
bool check_file(const std::string& path, bool is_brief, FoundJobs& jobs) {
  if (is_named_pipe(path)) {
    say("a pipe, not a file: " + path + ": write what comes out of it into a file, and check that");
    return false;
  }
  std::error_code ignored;
  // What is no regular file may be read once alone.
  if (std::filesystem::is_regular_file(path, ignored) && !is_own_trace(path)) {
    say(look_at_foreign(path).line);
    return false;
  }
  CheckReport report;
  std::string problem;
  if (!check_trace(path, report, problem, &jobs)) say(problem);
  if (is_brief && report.problems() == 0) {
    std::cout << path << ": nothing is missing\n";
    return true;
  }
  std::cout << path << "\n\n" << report.text() << "\n" << report.legend();
  std::cout << (report.problems() == 0 ? "Nothing is missing.\n"
                                       : "Something was missed: see NO above.\n");
  return report.problems() == 0;
}

// Another profiler's beside ours is no fault; nor may ours with a damaged beginning be passed over.
bool may_be_passed_over(const std::string& path) {
  const ForeignFinding finding = look_at_foreign(path);
  say(finding.line);
  return !finding.may_be_ours;
}

// By run key: the folders that hold rank files of it, as they were given.
using FoldersOfRuns = std::map<std::string, std::vector<std::string>>;

void note_folder(const std::string& folder, const std::vector<std::string>& files,
                 FoldersOfRuns& folders) {
  for (const std::string& file : files) {
    trace::TraceReader reader;
    if (!reader.open(file) || !reader.header().sources.empty()) continue;
    const auto run_key = trace::string_member(reader.header().distributed_info, "run_key");
    std::vector<std::string>& of_run = folders[std::string(run_key.value_or(""))];
    if (std::ranges::find(of_run, folder) == of_run.end()) of_run.push_back(folder);
  }
}

std::string folders_in_words(const std::vector<std::string>& folders) {
  constexpr std::size_t shown = 4;
  std::string words;
  for (std::size_t i = 0; i < std::min(shown, folders.size()); ++i) {
    words += (i == 0 ? "" : ", ") + folders[i];
  }
  if (folders.size() > shown) words += " and " + std::to_string(folders.size() - shown) + " more";
  return words;
}

// Whether the files are of all ranks that they should be of. Asked of jobs of which there are
// folders: a file alone may be meant so.
bool check_jobs(const FoldersOfRuns& folders, const FoundJobs& jobs) {
  bool ok = true;
  for (const auto& [run_key, job] : jobs) {
    const trace::JobRanks& ranks = job.ranks;
    const auto of_run = folders.find(run_key);
    if (!job.has_rank_file || of_run == folders.end()) continue;
    const std::string folder = folders_in_words(of_run->second);
    const std::string of_job = " of the job's " + std::to_string(ranks.world_size());
    const std::string here = ": no file here is theirs: traceagent recover, if they were killed\n";
    const std::vector<std::int64_t> missing = ranks.missing();
    const std::string of_node = ranks.missing_of_node_in_words();
    if (!missing.empty()) {
      std::cout << folder << ": missing: " << trace::ranks_in_words(missing) << of_job << here;
    } else if (!of_node.empty()) {
      std::cout << folder << ": missing: " << of_node << here;
    } else if (ranks.is_of_one_node() && ranks.is_node_size_known()) {
      std::cout << folder << ": of node " << ranks.node_rank()
                << " alone: " << ranks.ranks_of_node() << of_job << " ranks\n";
    }
    ok = ok && missing.empty() && of_node.empty();
  }
  return ok;
}

int check_files(const std::vector<std::string>& paths, const FolderOptions& options) {
  bool ok = true;
  FoundJobs jobs;
  FoldersOfRuns folders;
  for (const std::string& path : paths) {
    std::error_code ignored;
    const bool is_folder = std::filesystem::is_directory(path, ignored);
    TraceFiles files;
    files.paths = {path};
    if (is_folder) files = trace_files({path}, options);
    for (const std::string& problem : files.problems) say(problem);
    for (const std::string& other : files.foreign) ok = may_be_passed_over(other) && ok;
    ok = ok && files.problems.empty() && !files.paths.empty();
    for (const std::string& file : files.paths) ok = check_file(file, is_folder, jobs) && ok;
    if (is_folder) note_folder(path, files.paths, folders);
  }
  ok = check_jobs(folders, jobs) && ok;
  return ok ? exit_ok : exit_bad_data;
}

}  // namespace

void add_check_command(CLI::App& app, int& exit_code) {
  CLI::App* const command = app.add_subcommand(
      "check", "Say what would work on this machine, or what a trace lacks, and what to do");
  const auto paths = std::make_shared<std::vector<std::string>>();
  const auto options = std::make_shared<FolderOptions>();
  command
      ->add_option("traces", *paths,
                   "Rank or node files to look at instead of the machine, or folders "
                   "of them, of which those are shown that lack something")
      ->check(is_there());
  add_recursive_option(*command, *options);
  command->footer(
      "Exits with 1 when a line says NO, or ranks of the job are missing (of a node's files, of "
      "that\n"
      "node). Without a file it looks at TRACEAGENT_* as a traced\n"
      "program would.\n"
      "examples:\n"
      "  traceagent check\n"
      "  TRACEAGENT_OUTPUT_FOLDER=/data/traces traceagent check\n"
      "  traceagent check my-run/traces/node0.json\n"
      "  traceagent check my-run/traces\n"
      "  traceagent check -r runs/7");
  command->callback([paths, options, &exit_code] {
    exit_code = paths->empty() ? check_machine() : check_files(*paths, *options);
  });
}

}  // namespace traceagent::tools

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>

#include "agent/trace/merge.hpp"
#include "tools/clocks/align_options.hpp"
#include "tools/command_line.hpp"
#include "tools/foreign_inputs.hpp"
#include "tools/losses.hpp"
#include "tools/temporary_files.hpp"
#include "tools/trace_files.hpp"
#include "tools/unfinished_ranks.hpp"

namespace traceagent::tools {

namespace {

struct MergeArguments {
  std::vector<std::string> inputs;
  std::string output = "merged.json";
  bool force = false;
  bool mix_runs = false;
  bool gzip = false;
  int level = 1;
  ForeignOptions foreign;
  AlignOptions align = {};
};

bool show_progress(std::uint64_t done, std::uint64_t total) {
  std::fprintf(stderr, "\r%3.0f %%",
               total == 0 ? 100.0 : 100.0 * static_cast<double>(done) / static_cast<double>(total));
  return true;
}

// True when nothing is wrong with it.
bool print_input(const trace::MergedInput& input) {
  if (!input.problem.empty()) {
    say(input.problem);
    return false;
  }
  if (!input.left_out.empty()) {
    std::cout << "left out: " << input.path << ": " << input.left_out << "\n";
  }
  return true;
}

int print_report(const trace::MergeReport& report, const TraceFiles& files,
                 const ForeignInputs& foreign, const std::string& output) {
  bool ok = files.problems.empty() && report.problem.empty();
  for (const std::string& problem : files.problems) {
    say(problem);
  }
  ok = foreign.print() && ok;
  for (const trace::MergedInput& input : report.inputs) {
    ok = print_input(input) && ok;
  }
  if (!report.problem.empty()) {
    say(report.problem);
    return exit_bad_data;
  }
  std::cout << output << ": " << in_words(report.ranks.size(), "rank") << ", "
            << in_words(report.events, "event") << losses_in_words(report) << ", "
            << in_words(report.output_bytes, "byte") << "\n";
  for (const std::int64_t rank : report.missing_ranks) {
    std::cout << "missing: rank " << rank << "\n";
  }
  return ok ? exit_ok : exit_bad_data;
}

int merge_files(const MergeArguments& arguments) {
  const TraceFiles files = trace_files(arguments.inputs);
  trace::MergeOptions options;
  options.gzip = arguments.gzip || arguments.output.ends_with(".gz");
  options.gzip_level = arguments.level;
  options.overwrite = arguments.force;
  options.mix_runs = arguments.mix_runs;
  options.unfinished = unfinished_ranks(files.paths);
  const bool watched = isatty(STDERR_FILENO) == 1;
  if (watched) {
    options.progress = show_progress;
  }
  // Of merges that were killed.
  remove_old_temporaries(std::filesystem::path(arguments.output).parent_path().string());
  const ForeignInputs foreign(files, arguments.foreign, arguments.output, options.progress);
  if (foreign.is_refused()) {
    foreign.print();
    return exit_bad_data;
  }
  if (!put_clocks_together(foreign.paths(), arguments.align, options)) {
    return exit_bad_data;
  }
  const trace::MergeReport report = trace::merge(foreign.paths(), arguments.output, options);
  if (watched) {
    std::fprintf(stderr, "\r\033[K");
  }
  for (const trace::Unfinished& process : options.unfinished) {
    std::cout << "missing: " << process.who << " " << process.why << "\n";
  }
  return print_report(report, files, foreign, arguments.output);
}

}  // namespace

void add_merge_command(CLI::App& app, int& exit_code) {
  CLI::App* const command =
      app.add_subcommand("merge", "Join trace files of ranks, cycles and nodes into one");
  const auto arguments = std::make_shared<MergeArguments>();
  command
      ->add_option(
          "inputs", arguments->inputs,
          "Files that TraceAgent or others (PyTorch, Composer, ...) wrote, or folders of them")
      ->required()
      ->check(CLI::ExistingPath);
  command->add_option("-o,--output", arguments->output, "The file to write; .gz compresses it")
      ->capture_default_str();
  command->add_flag("--force", arguments->force, "Replace the output if it exists");
  command->add_flag("--mix-runs", arguments->mix_runs, "Join files of different runs all the same");
  command->add_flag("--gzip", arguments->gzip, "Compress whatever the output's name is");
  command->add_option("--level", arguments->level, "Compression, 1 (fast) to 9 (small)")
      ->check(CLI::Range(1, 9))
      ->capture_default_str();
  add_foreign_options(*command, arguments->foreign);
  add_align_options(*command, arguments->align);
  command->footer(
      "Exits with 1 when an input was cut, unreadable or no trace; what could be read is merged.\n"
      "Files of different runs are refused, unless --mix-runs.\n"
      "examples:\n"
      "  traceagent merge my-run/traces\n"
      "  traceagent merge node0.json node1.json -o all.json.gz --force\n"
      "  traceagent merge node*.json --align collectives");
  command->callback([arguments, &exit_code] { exit_code = merge_files(*arguments); });
}

}  // namespace traceagent::tools
